"""Launches a program's kernels in other configurations than the program asks for."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from triton_rvv.launches import generated
from triton_rvv.launches.capture_file import CaptureFile
from triton_rvv.launches.data_numbers import data_numbers
from triton_rvv.launches.decisions import Decision, OneEntry, Use
from triton_rvv.launches.decorators import adds_nothing, decorators_of, kernel_under
from triton_rvv.launches.distance import FARTHEST, is_far, size_distance
from triton_rvv.launches.fitting import listed_values, reaching, unfit
from triton_rvv.launches.forms import Forms, data_forms, forms_of
from triton_rvv.launches.launch import Launch
from triton_rvv.launches.rule import Rule
from triton_rvv.launches.signature import Signature, signature_of
from triton_rvv.launches.source import kernel_digest
from triton_rvv.launches.started_again import started_again
from triton_rvv.launches.substitution import (
    call_with,
    configuration_with,
    grid_with,
    numbers_of,
)

__all__ = ["Overlay"]

_FAR = (
    f"a size of its tensors differs by more than {2**FARTHEST:.0f} times from those of every tuned "
    "task"
)
_OTHER_GRID = "its grid does not follow the winner's constants"

_NUMBERS = itertools.count()


class Overlay:
    """Replaces configurations at launch, for exactly the tasks that were tuned or near ones.

    Args:
        rules: in a fixed order; of several that fit as well, the first is used.
        report: a file to which each process appends what it used.
        captured: digests of all kernels that were captured, tuned or not.
    """

    def __init__(
        self, rules: Iterable[Rule], report: Path, captured: Iterable[str] = frozenset()
    ) -> None:
        self._rules = list(rules)
        self._captured = frozenset(captured)
        self._with_rules = frozenset(rule.kernel for rule in self._rules)
        self._report = CaptureFile(report)
        self._uses: dict[tuple[str, str], Use] = {}
        # By Inductor's autotuner: kernels of torch.compile whose text is the same have one each.
        self._prepared = weakref.WeakKeyDictionary[Any, Use]()
        self._deployed: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._lock = threading.Lock()
        number = next(_NUMBERS)  # a program may apply one file after another
        # Of a kernel, what is known of its launches, and whether no rule is for it.
        self._forms, self._left = f"triton_rvv_overlay{number}", f"triton_rvv_left{number}"
        os.register_at_fork(after_in_child=self._after_fork)

    @classmethod
    def read(cls, path: Path) -> Overlay:
        """The overlay that a file describes."""
        described = json.loads(path.read_text())
        rules = [Rule(**rule) for rule in described["rules"]]
        return cls(rules, Path(described["report"]), described["captured"])

    def launch(self, launch: Launch, run: Callable[[], Any]) -> Any:
        """Launch a kernel in its winner's configuration, if it has one."""
        # The configurations of these were replaced where they were chosen.
        if launch.is_generated:
            result = run()
            if self._prepared and (known := self._prepared.get(launch.holder)):
                known.launches += 1
            return result
        args, kwargs, grid = launch.args, launch.kwargs, launch.grid
        forms = forms_of(launch.kernel, self._forms, launch.kernel, self._new_forms)
        known, form, traits = forms.find(args, kwargs, grid)
        decision: Decision = self._decision(launch) if known is None else known
        if known is None:
            form.remember(traits, decision)
        use, call, again = decision.use, decision.call, decision.again
        if use.rule is None or call is None:
            return run()
        launch.grid = grid if decision.grid is None else decision.grid
        if again is not None and again.start((*args, *kwargs.values()), launch.grid):
            use.launches += 1
            return again.compiled
        launch.args, launch.kwargs = call(*args, *kwargs.values())
        try:
            compiled = run()
        except Exception as error:  # such as one of the compiler, or of a smaller GPU
            use.give_up(error)
            launch.args, launch.kwargs, launch.grid = args, kwargs, grid
            return run()
        use.launches += 1
        if known is None or id(compiled) not in self._deployed:
            before = Launch(launch.kernel, args, kwargs, grid)
            self._deployed.setdefault(id(compiled), (compiled, _named(before)))
            if known is None and form.is_plain:
                again = started_again(before, compiled, use.rule.config)
                form.remember(traits, decision._replace(again=again))
        return compiled

    def leaves(self, launched: Any, tuner: Any) -> bool:
        """Leave launches that an autotuner makes, and what has no winner at any size."""
        return tuner is not None or self._left in launched.__dict__

    def _decision(self, launch: Launch) -> Decision:
        use = self._decided(launch.kernel, launch.signature, "key", "family")
        use = self._within(use, launch.bound, {})
        if use.rule is None:
            return Decision(use)
        grid = grid_with(launch, use.rule)
        if grid is None:
            return Decision(self._use(Use(None, use.kernel, why=_OTHER_GRID)))
        call = call_with(launch, use.rule.config, use.rule.loads)
        return Decision(use, numbers_of(grid), call)

    def started(self, launch: Launch, compiled: Any, run: Callable[[], Any]) -> Any:
        """Start a compiled kernel as the program expects it.

        A package that keeps a compiled kernel computes the grid for the configuration that it asked
        for. So a kernel that has a winner is launched again from its parameters.
        """
        known = self._deployed.get(id(compiled))
        # One that was only compiled so far, by `warmup`, is in the configuration asked for.
        deployed = _named(launch) if known is None else known[1]
        kernel = launch.kernel
        given = {**launch.bound, **deployed}
        values = {n: v for n, v in given.items() if n not in kernel.arg_names or n in deployed}
        passed = {n: v for n, v in launch.bound.items() if n not in deployed}
        wanted = {**passed, **values}
        again = Launch(kernel, (), wanted, launch.grid)
        original = type(kernel).run.__wrapped__

        def launch_again() -> Any:
            if known is None and again.kwargs is wanted:
                return run()
            return original(kernel, *again.args, grid=again.grid, warmup=False, **again.kwargs)

        return self.launch(again, launch_again)

    def tuned(self, tuner: Any, args: Any, kwargs: Any, run: Callable[..., Any]) -> Any:
        """Let an autotuner choose the winner without measuring.

        What its configurations leave to the program is replaced among the launch's arguments.
        """
        given = kwargs.copy()
        grid, warmup = given.pop("grid"), given.pop("warmup", False)
        launch = Launch(kernel_under(tuner), args, given, grid)
        decision, remember = self._by_tuner(tuner, launch)
        use, again, chosen = decision.use, decision.again, decision.chosen
        if use.rule is None or decision.call is None or chosen is None:
            return run(*args, **kwargs)
        grid = grid if decision.grid is None else decision.grid
        if again is not None and not warmup and again.start((*args, *given.values()), grid):
            tuner.best_config = chosen[0]
            use.launches += 1
            return again.compiled
        placed, named = decision.call(*args, *given.values())
        # A tuner with one configuration takes it, whichever class it is of.
        tuner.configs = chosen
        try:
            result = run(*placed, grid=grid, warmup=warmup, **named)
        except Exception as error:
            use.give_up(error)
        else:
            use.launches += 1
            if remember is not None and adds_nothing(tuner, launch.kernel, chosen[0]):
                config = {**chosen[0].kwargs, **use.rule.config}
                remember(decision._replace(again=started_again(launch, result, config)))
            return result
        finally:
            tuner.configs = chosen.configs
        return run(*args, **kwargs)

    def _by_tuner(
        self, tuner: Any, launch: Launch
    ) -> tuple[Decision, Callable[[Decision], None] | None]:
        """How an autotuner's launch is made; if that is new, what remembers more of it."""
        configs = getattr(tuner.configs, "configs", tuner.configs)  # another thread may launch it
        forms = forms_of(tuner, self._forms, launch.kernel, self._new_forms)
        known, form, traits = forms.find(launch.args, launch.kwargs, launch.grid)
        if known is not None and known.configs is configs:
            return known, None
        decision = self._tuner_decision(tuner, launch, configs)
        form.remember(traits, decision)
        if self._left in launch.kernel.__dict__:
            tuner.__dict__[self._left] = True
        more = functools.partial(form.remember, traits) if form.is_plain else None
        return decision, more

    def _tuner_decision(self, tuner: Any, launch: Launch, configs: Sequence[Any]) -> Decision:
        kernel, bound = launch.kernel, launch.bound
        decorators = decorators_of(kernel, tuner)
        use = self._decided(
            kernel,
            lambda: signature_of(kernel, bound, {}, (1, 1, 1), decorators),
            "call_key",
            "call_family",
        )
        use = self._within(use, bound, listed_values(configs))
        rule = use.rule
        if rule is None:
            return Decision(use, configs=configs)
        names, config = launch.names, rule.config
        listed = {name: value for name, value in config.items() if name not in names}
        chosen = OneEntry(configuration_with(configs, listed), configs)
        passed = {name: value for name, value in config.items() if name in names}
        if not passed:
            return Decision(use, call=call_with(launch, {}, {}), configs=configs, chosen=chosen)
        grid = grid_with(launch, dataclasses.replace(rule, config=passed))
        if grid is None:
            use = self._use(Use(None, use.kernel, why=_OTHER_GRID))
            return Decision(use, configs=configs)
        call = call_with(launch, passed, rule.loads)
        return Decision(use, numbers_of(grid), call, configs=configs, chosen=chosen)

    def benchmarked(self, tuner: Any, updated: Collection[str], run: Callable[[], Any]) -> Any:
        """Let an autotuner measure."""
        return run()

    def prepared(self, tuner: Any) -> bool:
        """Let torch.compile compile a kernel in its winner's configuration only."""
        function = generated.loaded_kernel(tuner)
        digest = kernel_digest(function)
        rules = [rule for rule in self._rules if rule.kernel == digest]
        if not rules:
            return False
        listed = listed_values(generated.configurations_of(tuner))  # its sizes are not known
        fitting = [rule for rule in rules if not reaching(rule, {}, listed)]
        rule = (fitting or rules)[0]
        config = configuration_with(generated.configurations_of(tuner), rule.config)
        why = reaching(rule, {}, listed)
        if not generated.grid_follows(tuner, config):
            constants = ", ".join(f"{name}={value}" for name, value in config.kwargs.items())
            why = generated.GRID_OF_NUMBERS.format(constants)
        if why:
            self._use(Use(None, rule.name, why=why))
            return False
        if not generated.is_settled(tuner, rule.config):
            generated.settle(tuner, config)
        self._prepared[tuner] = self._use(Use(rule, rule.name))
        return True

    def write(self, *, is_last: bool = False) -> None:
        """Append what this process used since the last time to the report."""
        for use in list(self._uses.values()):
            launches, use.reported = use.launches - use.reported, use.launches
            if launches or (is_last and use.why):
                self._report.write(
                    "applied",
                    process=self._report.process,
                    task=None if use.rule is None else use.rule.task,
                    kernel=use.kernel,
                    distance=use.distance,
                    why=use.why,
                    launches=launches,
                )

    def _after_fork(self) -> None:
        """What the parent launched is the parent's to report."""
        self._lock = threading.Lock()
        self._report.after_fork()
        for use in self._uses.values():
            use.launches = use.reported = 0

    def _decided(
        self, kernel: Any, describe: Callable[[], Signature], key: str, family: str
    ) -> Use:
        name = f"{kernel.module}.{kernel.fn.__qualname__}"
        try:
            signature = describe()
        except Exception as error:  # the program has to go on, whatever it launches
            return self._use(Use(None, name, why=f"{type(error).__name__}: {error}"))
        if signature.kernel not in self._with_rules:
            kernel.__dict__[self._left] = True
        wanted = getattr(signature, key)
        exact = [r for r in self._rules if (r.task if key == "key" else r.call_key) == wanted]
        if exact:
            return self._use(Use(exact[0], name))
        alike = [r for r in self._rules if getattr(r, family) == getattr(signature, family)]
        near = [rule for rule in alike if not is_far(rule.dimensions, signature.dimensions)]
        if alike and not near:
            return self._use(Use(None, name, why=_FAR))
        if near:
            rule = min(near, key=lambda rule: size_distance(rule.sizes, signature.sizes))
            why = unfit(rule, signature, signature.chosen if key == "call_key" else frozenset())
            used = None if why else rule
            return self._use(Use(used, name, size_distance(rule.sizes, signature.sizes), why))
        # A function may make several kernels, which have one name.
        is_captured = signature.kernel in self._captured
        tuned = [r for r in self._rules if r.name == name]
        if is_captured:
            tuned = [rule for rule in tuned if rule.kernel == signature.kernel]
        if tuned and all(rule.kernel != signature.kernel for rule in tuned):
            return self._use(Use(None, name, why="its source has changed since it was tuned"))
        why = "it was tuned with other types, constants or options" if tuned else ""
        return self._use(Use(None, name, why=why))

    def _within(
        self, use: Use, given: Mapping[str, Any], listed: Mapping[str, Sequence[Any]]
    ) -> Use:
        """The use, unless its winner may reach behind the tensors at other sizes."""
        if use.rule is None or not use.distance:
            return use
        own = {name: [given[name]] for name in use.rule.config if name in given}
        why = reaching(use.rule, given, {**own, **listed})
        return self._use(Use(None, use.kernel, why=why)) if why else use

    def _new_forms(self, kernel: Any) -> Forms[Any]:
        """Forms that take about the same integers for the same, as a token's place.

        Which winner is near enough, and whether it may reach behind a tensor, follows from tensors
        and from the sizes in a grid's formula. Integers of tasks are told from all others.
        """
        try:
            digest = kernel_digest(kernel)
        except Exception:  # the program has to go on, whatever it launches
            return data_forms(kernel)
        rules = [rule for rule in self._rules if rule.kernel == digest]
        in_formulas = {name for rule in rules for name in rule.followed}
        near = {p.name for p in kernel.params} - in_formulas
        return Forms(
            kernel.params,
            frozenset(near) | data_numbers(kernel),
            frozenset(size for rule in rules for size in rule.sizes),
        )

    def _use(self, use: Use) -> Use:
        """The one use of this kind."""
        with self._lock:
            about = use.why if use.rule is None else f"{use.rule.task} {use.distance}"
            return self._uses.setdefault((use.kernel, about), use)


def _named(launch: Launch) -> dict[str, Any]:
    """The constants and options of a launch, by name."""
    constants = {p.name for p in launch.kernel.params if p.is_constexpr}
    bound = {name: value for name, value in launch.bound.items() if name in constants}
    return {**bound, **launch.options}

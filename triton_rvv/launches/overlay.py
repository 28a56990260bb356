"""Launches a program's kernels in other configurations than the program asks for."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from triton_rvv.launches.capture_file import CaptureFile
from triton_rvv.launches.decisions import Decision, OneEntry, Use
from triton_rvv.launches.decorators import decorators_of, kernel_under
from triton_rvv.launches.distance import FARTHEST, is_far, size_distance
from triton_rvv.launches.fitting import listed_values, reaching, unfit
from triton_rvv.launches.forms import forms_of
from triton_rvv.launches.generated import configurations_of, is_settled, loaded_kernel, settle
from triton_rvv.launches.grid_text import followed
from triton_rvv.launches.launch import Launch
from triton_rvv.launches.options import OPTIONS
from triton_rvv.launches.rule import Rule
from triton_rvv.launches.signature import Signature, signature_of
from triton_rvv.launches.source import kernel_digest

__all__ = ["Overlay"]

_FAR = (
    f"a size of its tensors differs by more than {2**FARTHEST:.0f} times from those of every tuned "
    "task"
)
_OTHER_GRID = "its grid does not follow the winner's constants"


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
        self._report = CaptureFile(report)
        self._uses: dict[tuple[str, str], Use] = {}
        # By Inductor's autotuner: kernels of torch.compile whose text is the same have one each.
        self._prepared = weakref.WeakKeyDictionary[Any, Use]()
        self._deployed: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._lock = threading.Lock()
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
        if launch.running is not None:
            return run()
        known, form, traits = launch.forms("overlay").find(*launch.looked_up)
        decision: Decision = self._decision(launch) if known is None else known
        if known is None:
            form.remember(traits, decision)
        use, rule = decision.use, decision.use.rule  # which another thread may give up
        if rule is None:
            return run()
        before = Launch(launch.kernel, launch.args, launch.kwargs, launch.grid)
        _substitute(launch, rule, decision.grid)
        try:
            compiled = run()
        except Exception as error:  # such as one of the compiler, or of a smaller GPU
            use.give_up(error)
            launch.args, launch.kwargs, launch.grid = before.args, before.kwargs, before.grid
            return run()
        use.launches += 1
        if id(compiled) not in self._deployed:
            self._deployed[id(compiled)] = (compiled, _named(before))
        return compiled

    def _decision(self, launch: Launch) -> Decision:
        use = self._decided(launch.kernel, launch.signature, "key", "family")
        use = self._within(use, launch.bound, {})
        if use.rule is None or callable(launch.grid):
            return Decision(use)
        grid = _grid_with(launch, use.rule)
        if grid is None:
            return Decision(self._use(Use(None, use.kernel, why=_OTHER_GRID)))
        return Decision(use, grid)

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
        kernel = kernel_under(tuner)
        given = {name: value for name, value in kwargs.items() if name not in ("grid", "warmup")}
        launch = Launch(kernel, args, given, kwargs["grid"])
        configs = getattr(tuner.configs, "configs", tuner.configs)  # another thread may launch it
        known, form, traits = forms_of(tuner, "overlay", kernel.params).find(*launch.looked_up)
        if known is None or known.configs is not configs:
            known = self._tuner_decision(tuner, launch, configs)
            form.remember(traits, known)
        use = known.use
        if use.rule is None:
            return run(*args, **kwargs)
        if known.passed is not None:
            _substitute(launch, known.passed, known.grid)
        # A tuner with one configuration takes it, whichever class it is of.
        tuner.configs = known.chosen
        try:
            result = run(*launch.args, **{**kwargs, **launch.kwargs, "grid": launch.grid})
        except Exception as error:
            use.give_up(error)
        else:
            use.launches += 1
            return result
        finally:
            tuner.configs = configs
        return run(*args, **kwargs)

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
        if use.rule is None:
            return Decision(use, configs=configs)
        names, config = launch.names, use.rule.config
        listed = {name: value for name, value in config.items() if name not in names}
        chosen = OneEntry(_configuration(configs, listed), configs)
        if len(listed) == len(config):
            return Decision(use, None, configs, chosen)
        passed = {name: value for name, value in config.items() if name in names}
        rule = dataclasses.replace(use.rule, config=passed)
        grid = _grid_with(launch, rule)
        if grid is None:
            use = self._use(Use(None, use.kernel, why=_OTHER_GRID))
            return Decision(use, configs=configs)
        return Decision(use, None if callable(grid) else grid, configs, chosen, rule)

    def benchmarked(self, tuner: Any, run: Callable[[], Any]) -> Any:
        """Let an autotuner measure."""
        return run()

    def prepared(self, tuner: Any) -> bool:
        """Let torch.compile compile a kernel in its winner's configuration only."""
        function = loaded_kernel(tuner)
        digest = kernel_digest(function)
        rules = [rule for rule in self._rules if rule.kernel == digest]
        if not rules:
            return False
        # Its sizes may be others in each launch.
        listed = listed_values(configurations_of(tuner))
        rule = next((rule for rule in rules if not reaching(rule, {}, listed)), None)
        if rule is None:
            self._use(Use(None, rules[0].name, why=reaching(rules[0], {}, listed)))
            return False
        if not is_settled(tuner, rule.config):
            settle(tuner, _configuration(configurations_of(tuner), rule.config))
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

    def _use(self, use: Use) -> Use:
        """The one use of this kind."""
        with self._lock:
            about = use.why if use.rule is None else f"{use.rule.task} {use.distance}"
            return self._uses.setdefault((use.kernel, about), use)


def _substitute(launch: Launch, rule: Rule, grid: Any) -> None:
    """Change a launch to a rule's configuration, and to a grid for it; None for its own."""
    names = launch.kernel.arg_names
    named = {**dict(zip(names, launch.args, strict=False)), **launch.kwargs, **rule.config}
    for name, block in rule.loads.items():
        if hasattr(named.get(name), "block_shape"):
            named[name] = dataclasses.replace(named[name], block_shape=list(block))
    launch.args, launch.kwargs = (), named
    launch.grid = launch.grid if grid is None else grid


def _grid_with(launch: Launch, rule: Rule) -> Any:
    """The grid of a launch in a rule's configuration; None if it cannot be told."""
    grid = launch.grid
    if callable(grid) or (rule.grid is None and not rule.is_grid_callable):
        return grid
    bound = launch.bound
    if rule.grid is not None:
        programs = (*map(int, grid), 1, 1)[:3]
        wanted = {**bound, **rule.config}
        try:
            return tuple(
                followed(text, bound, wanted, number)
                for text, number in zip(rule.grid, programs, strict=True)
            )
        except ValueError:
            return None
    # The task's grid followed by itself. Here it is numbers, for the program's constants.
    is_same = all(bound.get(n) == rule.config.get(n, bound.get(n)) for n in rule.followed)
    return grid if is_same else None


def _named(launch: Launch) -> dict[str, Any]:
    """The constants and options of a launch, by name."""
    constants = {p.name for p in launch.kernel.params if p.is_constexpr}
    bound = {name: value for name, value in launch.bound.items() if name in constants}
    return {**bound, **launch.options}


def _configuration(listed: Sequence[Any], config: Mapping[str, Any]) -> Any:
    """The listed `triton.Config` with these values, hooks included; else a new one.

    What the values leave open is as in the first that is listed.
    """
    import triton

    for one in listed:
        options = {name: getattr(one, name, None) for name in OPTIONS}
        values = {**options, **one.kwargs}
        if all(values.get(name) == value for name, value in config.items()):
            return one
    first = listed[0] if listed else triton.Config({})
    options = {name: config.get(name, getattr(first, name, None)) for name in OPTIONS}
    values = {**first.kwargs, **{n: v for n, v in config.items() if n not in options}}
    given = {name: value for name, value in options.items() if value is not None}
    return triton.Config(values, **given, pre_hook=getattr(first, "pre_hook", None))

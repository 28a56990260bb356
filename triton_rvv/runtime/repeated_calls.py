"""The short way of a call like one before it: from the arguments straight to the loaded code.

Of a small kernel's call, Triton's own way to the launcher takes most of the time: it binds the
arguments to parameters, writes down as text what they are, finds the compiled kernel by that text,
and makes what hooks are told. Here the first call of a kind goes that way, and those after it go
straight to what it led to. Two calls are of a kind where Triton's answer cannot differ.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton_rvv.runtime.host_launch import HostLauncher

__all__ = ["remember_calls"]

# Triton's key for what is compiled for this processor (`RVVDriver.get_current_device`).
_DEVICE = "cpu"
# The attribute of a kernel that holds its calls.
_ATTRIBUTE = "triton_rvv_calls"

# Constants of which Triton, too, only asks whether they are equal.
_PLAIN = (int, float, bool, str, type(None))
_CHANGED = object()


def remember_calls() -> None:
    """Make kernels take the short way from now on."""
    from triton.runtime.jit import JITFunction

    if not hasattr(JITFunction.run, "__wrapped__"):
        JITFunction.run = _with_short_way(JITFunction.run)


def _with_short_way(run: Callable[..., Any]) -> Callable[..., Any]:
    from triton import knobs
    from triton.runtime.driver import driver

    runtime, compilation = knobs.runtime, knobs.compilation

    @functools.wraps(run)
    def run_again(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        calls: _Calls | None = self.__dict__.get(_ATTRIBUTE)
        if warmup or self.pre_run_hooks or _is_watched(runtime):
            return run(self, *args, grid=grid, warmup=warmup, **kwargs)
        # Triton fills a device's entry, when it is first read, for the driver that is active then.
        active, compiled = driver.active, self.device_caches
        if calls is None or calls.driver is not active or calls.compiled is not compiled[_DEVICE]:
            if active.get_current_device() != _DEVICE:
                return run(self, *args, grid=grid, warmup=False, **kwargs)
            calls = self.__dict__[_ATTRIBUTE] = _Calls(self.params, compiled[_DEVICE], active)
        given = (*args, *kwargs.values())
        form = calls.last.get((len(args), *kwargs))
        outline = None if form is None else form.outline(*given)
        if outline is None:  # other types than those of the last call, as a rule
            form = calls.form(given, len(args), kwargs)
            outline = None if form is None else form.outline(*given)
        if form is None or outline is None:
            return run(self, *args, grid=grid, warmup=False, **kwargs)
        traits, slots = outline
        kind = (self.debug or runtime.debug, compilation.instrumentation_mode, traits)
        known = form.known.get(kind)
        if known is None or (self.used_global_vals and _has_changed_globals(self)):
            kernel = run(self, *args, grid=grid, warmup=False, **kwargs)
            form.remember(kind, kernel)
            return kernel
        if callable(grid):
            grid = grid(calls.bound(args, kwargs))
        known.start(given, slots, (*grid, 1, 1)[:3])
        return known.kernel

    return run_again


def _is_watched(runtime: Any) -> bool:
    """Whether somebody wants to hear of launches, or changes what is compiled."""
    enter, leave = runtime.launch_enter_hook, runtime.launch_exit_hook
    try:
        heard = enter.calls or leave.calls
    except AttributeError:  # somebody put a function in its place
        heard = enter or leave
    return bool(heard or runtime.add_stages_inspection_hook)


def _has_changed_globals(function: Any) -> bool:
    """Whether a global variable that was compiled in has another value: Triton raises an error."""
    return any(
        scope.get(name, _CHANGED) != value
        for (name, _), (value, scope) in function.used_global_vals.items()
    )


# Runs every program of a grid: all that a call gives, what fills the slots, and the grid's sizes.
_Start = Callable[[tuple[Any, ...], tuple[Any, ...], tuple[int, int, int]], None]


@dataclass(frozen=True, slots=True)
class _Known:
    """What the calls of one kind lead to.

    Args:
        kernel: Triton's compiled kernel.
        start: starts it.
    """

    kernel: Any
    start: _Start


def _starting(
    kernel: Any,
    pack: Callable[..., bytes],
    values: Callable[[Sequence[Any]], tuple[Any, ...]],
    slots: Callable[[Sequence[Any]], tuple[Any, ...]],
) -> _Start:
    """What starts a compiled kernel.

    Args:
        kernel: Triton's compiled kernel.
        pack: makes its argument array.
        values: takes from all that a call gives what is passed at run time.
        slots: takes from the slots of a form those that this kernel has.
    """
    run_slots, function = kernel.run.run_slots, kernel.function

    def start(given: tuple[Any, ...], of_form: tuple[Any, ...], grid: tuple[int, int, int]) -> None:
        if 0 not in grid:
            run_slots(function, values(given), slots(of_form), pack, grid)

    return start


class _Form:
    """The calls of one kernel whose arguments have the same types and names.

    Args:
        names: of what a call gives.
        types: of each.
        roles: of each, a key of `_TRAITS`.

    Attributes:
        known: what they lead to, by kind.
        outline: tells of a call's arguments what Triton's answer depends on, or more, and what
            fills the slots of those that may be passed at run time: addresses and numbers. None
            where arguments have other types, or the answer depends on what is not looked at here.
    """

    def __init__(self, names: Sequence[str], types: Sequence[type], roles: Sequence[str]) -> None:
        self.known: dict[tuple[Any, ...], _Known] = {}
        self.outline = _outline(types, roles)
        self._names = names
        self._passed = [n for n, role in zip(names, roles, strict=True) if role != "constant"]
        self._floats = [n for n, role in zip(names, roles, strict=True) if role == "float"]

    def remember(self, kind: tuple[Any, ...], kernel: Any) -> None:
        """Keep what a call of a kind led to, if the way there is short.

        Args:
            kind: of the call.
            kernel: Triton's compiled kernel, or None where there is none.
        """
        launcher = kernel and kernel.run
        if type(launcher) is not HostLauncher or launcher.short_pack is None:
            return
        signature = kernel.src.signature
        types = {name: type_ for name, type_ in signature.items() if type_ != "constexpr"}
        passed = list(types)
        is_cut_off = any(types.get(name, "fp").startswith(("i", "u")) for name in self._floats)
        if set(passed) <= set(self._names) and not is_cut_off:  # and no default
            values, slots = (
                _taking([there.index(name) for name in passed])
                for there in (self._names, self._passed)
            )
            self.known[kind] = _Known(kernel, _starting(kernel, launcher.short_pack, values, slots))


# What matters of an argument: of a tensor its type and whether its address is a multiple of 16, of
# an integer whether it is 1 or a multiple of 16.
_TRAITS = {
    "tensor": "{0}.dtype, not (address_{0} := {0}.data_ptr()) & 15",
    "integer": "{0} == 1 or -(not {0} & 15)",
    "float": "",
    "constant": "{0}",
}
_SLOTS = {"tensor": "address_{0}", "integer": "{0}", "float": "{0}"}
_CONDITIONS = {"tensor": "{0}.is_cpu", "integer": f"{-(1 << 31)} <= {{0}} < {1 << 31}"}

_Outline = tuple[tuple[Any, ...], tuple[Any, ...]]


def _outline(types: Sequence[type], roles: Sequence[str]) -> Callable[..., _Outline | None]:
    """The function `_Form.outline`, written out: a loop would take most of a call's time."""

    def written(texts: Mapping[str, str]) -> list[str]:
        all_ = [texts.get(role, "").format(f"x{place}") for place, role in enumerate(roles)]
        return [text for text in all_ if text]

    names = ", ".join(f"x{place}" for place in range(len(roles)))
    known_types = {f"T{place}": type_ for place, type_ in enumerate(types)}
    are_types = [f"type(x{place}) is T{place}" for place in range(len(types))]
    condition = " and ".join([*are_types, *written(_CONDITIONS)]) or "True"
    traits, slots = (f"({''.join(f'{text}, ' for text in written(t))})" for t in (_TRAITS, _SLOTS))
    made: Callable[..., _Outline | None]
    made = eval(f"lambda {names}: ({traits}, {slots}) if {condition} else None", known_types)
    return made


class _Calls:
    """The calls of one kernel, by form.

    Args:
        parameters: Triton's own description of the kernel's parameters.
        compiled: what Triton has compiled of the kernel, as long as which these calls are good.
        driver: Triton's active driver, as long as which they are, too.

    Attributes:
        last: the last form, by how many arguments stand without a name, and the others' names.
    """

    def __init__(self, parameters: Sequence[Any], compiled: object, driver: object) -> None:
        from torch import Tensor
        from torch.nn import Parameter
        from triton.language import dtype

        self.compiled, self.driver = compiled, driver
        self.last: dict[tuple[Any, ...], _Form | None] = {}
        # By the same, and the types of all.
        self._forms: dict[tuple[Any, ...], _Form | None] = {}
        self._roles = {Tensor: "tensor", Parameter: "tensor", int: "integer", float: "float"}
        self._constants = frozenset([*_PLAIN, dtype])
        self._is_constant = {p.name: p.is_constexpr for p in parameters}
        self._defaults = {p.name: p.default for p in parameters if p.has_default}

    def form(self, given: tuple[Any, ...], unnamed: int, kwargs: Mapping[str, Any]) -> _Form | None:
        """The form of a call, which is the last one now.

        None where it has arguments that are not looked at here.

        Args:
            given: all arguments.
            unnamed: how many of them stood without a name.
            kwargs: the others by name, the compiler's options among them.
        """
        names = (unnamed, *kwargs)
        key = (*names, *map(type, given))
        if key not in self._forms:
            self._forms[key] = self._make([*[*self._is_constant][:unnamed], *kwargs], given)
        form = self.last[names] = self._forms[key]
        return form

    def _make(self, names: Sequence[str], given: tuple[Any, ...]) -> _Form | None:
        types, roles = [*map(type, given)], []
        for name, type_ in zip(names, types, strict=False):
            if self._is_constant.get(name, True):
                role = "constant" if type_ in self._constants else None
            else:
                role = self._roles.get(type_)
            if role is None:
                return None
            roles.append(role)
        return _Form(names, types, roles) if len(roles) == len(given) else None

    def bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The value of each parameter by its name, as functions for a grid take them."""
        return {**self._defaults, **dict(zip(self._is_constant, args, strict=False)), **kwargs}


def _taking(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A function that takes what lies at some places of a sequence."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    return lambda given: tuple([given[place] for place in places])

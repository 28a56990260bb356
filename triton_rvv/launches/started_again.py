"""Starts what a launch like this one led to, without Triton's own way from arguments to code.

On a GPU that way takes as long as a small kernel runs, so a program that waits for launches would
be slower with a winner, whose launches are looked up as well. Two launches of the same traits lead
to the same code, but for what is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triton_rvv.launches.launch import Launch

__all__ = ["StartedAgain", "started_again"]

Values = Callable[..., tuple[Any, ...]]

# Elsewhere Triton looks at more of the arguments, or this project has a short way of its own.
_BACKEND = "cuda"


class StartedAgain:
    """A compiled kernel that was launched.

    Args:
        kernel: made by `@triton.jit`.
        compiled: what a launch of it returned.
        values: takes what a launch gives, and makes one value for each parameter.
    """

    def __init__(self, kernel: Any, compiled: Any, values: Values) -> None:
        from triton import knobs
        from triton.runtime.driver import driver

        self._kernel, self.compiled, self._values = kernel, compiled, values
        self._names = kernel.arg_names
        self._knobs, self._driver = knobs, driver
        # Where launches are watched, a compiled kernel's own way is, too.
        getitem = type(compiled).__getitem__
        self._runner = getattr(getitem, "__wrapped__", getitem)
        self._state = self._current()

    def start(self, given: Sequence[Any], grid: Any) -> bool:
        """Start it, unless a launch by Triton may come to something else.

        Args:
            given: all that the launch gives, in its order.
            grid: numbers of programs, or a function of the kernel's parameters.

        Returns:
            Whether it was started.
        """
        if self._kernel.pre_run_hooks or self._current() != self._state:
            return False
        values = self._values(*given)
        if callable(grid):
            grid = grid(dict(zip(self._names, values, strict=True)))
        self._runner(self.compiled, (*grid, 1, 1)[:3])(*values)
        return True

    def _current(self) -> tuple[Any, ...]:
        """What the code follows from, besides a launch's arguments."""
        active, kernel, runtime = self._driver.active, self._kernel, self._knobs.runtime
        device = active.get_current_device()
        read = kernel.used_global_vals
        return (
            *(active, device, id(kernel.device_caches[device]), kernel.src),
            *(kernel.debug or runtime.debug, runtime.add_stages_inspection_hook),
            self._knobs.compilation.instrumentation_mode,
            [scope.get(name) for (name, _), (_, scope) in read.items()] if read else None,
        )


def started_again(launch: Launch, compiled: Any, config: Mapping[str, Any]) -> StartedAgain | None:
    """What starts launches of a kind from now on; None where Triton has to.

    Args:
        launch: one of them, as the program asked for it.
        compiled: what it returned in its winner's configuration.
        config: of the winner; options among the values.
    """
    from triton.runtime.driver import driver

    if driver.active.get_current_target().backend != _BACKEND or not hasattr(compiled, "src"):
        return None
    kernel, names = launch.kernel, [*launch.kernel.arg_names[: len(launch.args)], *launch.kwargs]
    known = {**{p.name: p.default for p in kernel.params if p.has_default}, **config}
    scope, texts = {}, []
    for name in kernel.arg_names:
        is_given = name in names and name not in config
        if not is_given and name not in known:
            return None  # computed on the way, by heuristics
        if not is_given:
            scope[f"c_{name}"] = known[name]
        texts.append(f"x_{name}" if is_given else f"c_{name}")
    given = ", ".join(f"x_{name}" for name in names)
    values: Values = eval(f"lambda {given}: ({', '.join(texts)},)", scope)
    return StartedAgain(kernel, compiled, values)

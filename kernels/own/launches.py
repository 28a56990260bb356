"""Catches launches of Triton's kernels, whatever decorators they are under."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from triton.compiler import CompiledKernel
from triton.runtime.jit import JITFunction, KernelInterface

from kernels.own.module import call_by_name
from kernels.own.other_kernels import other_kernels_run
from kernels.own.seeded import seeded
from kernels.unwrapped import unwrapped
from triton_rvv.launches.interception import with_constants

__all__ = ["CaughtError", "first_launched", "launches_caught"]


class CaughtError(BaseException):
    """Ends the user's function at a launch. No `Exception`, which the function may catch."""


@contextlib.contextmanager
def launches_caught(
    catch: Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], None],
) -> Iterator[None]:
    """Within the block, `launched[grid](*arguments, **named)` first calls `catch(launched, grid,
    arguments, named)`, and runs if that returns. A launch through decorators may be caught again
    further in; one of what `launched.warmup` compiled has the constants that it was compiled with.
    """
    index, run, start = KernelInterface.__getitem__, JITFunction.run, CompiledKernel.__getitem__

    def caught_index(self: Any, grid: Any) -> Any:
        def launch(*arguments: Any, **named: Any) -> Any:
            catch(self, grid, arguments, named)
            return index(self, grid)(*arguments, **named)

        return launch

    # Decorators that are no KernelInterface come here alone.
    def caught_run(
        self: Any, *arguments: Any, grid: Any, warmup: bool = False, **named: Any
    ) -> Any:
        if not warmup:
            catch(self, grid, arguments, named)
        return run(self, *arguments, grid=grid, warmup=warmup, **named)

    def caught_start(self: Any, grid: Any) -> Any:
        def launch(*arguments: Any, **named: Any) -> Any:
            if hasattr(self.src, "fn"):
                catch(self.src.fn, grid, with_constants(self.src, arguments), named)
            return start(self, grid)(*arguments, **named)

        return launch

    KernelInterface.__getitem__, JITFunction.run = caught_index, caught_run
    CompiledKernel.__getitem__ = caught_start
    try:
        yield
    finally:
        KernelInterface.__getitem__, JITFunction.run = index, run
        CompiledKernel.__getitem__ = start


def first_launched(path: Path, call: Callable[..., Any], name: str | None) -> Any:
    """The first kernel that a function of the file launches with its default sizes; under all of
    its decorators. None if there is no such launch.

    Args:
        path: of the file.
        call: the function; it ends where it launches the kernel.
        name: of the kernel; None for any.

    Raises:
        UserError: if the function fails before.
    """
    found: list[Any] = []

    def catch(launched: Any, *_: Any) -> None:
        if name is None or unwrapped(launched).function.__name__ == name:
            found.append(launched)
            raise CaughtError

    parameters = inspect.signature(call).parameters.values()
    sizes = {p.name: p.default for p in parameters if p.default is not p.empty}
    with (
        contextlib.suppress(CaughtError),
        seeded(0),
        other_kernels_run(),
        launches_caught(catch),
    ):
        call_by_name(path, call, {"config": {}, **sizes})
    return found[0] if found else None

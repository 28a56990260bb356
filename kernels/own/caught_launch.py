"""Catches how a user's own function launches the kernel, in place of launching it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from foundation.errors import UserError
from foundation.triton_options import launch_options
from kernels.own.kernel_file import KernelFile
from kernels.own.launches import CaughtError, launches_caught
from kernels.own.module import call_by_name
from kernels.own.other_kernels import other_kernels_run
from kernels.unwrapped import unwrapped

__all__ = ["CaughtLaunch", "caught_launch", "refused_launch"]


@dataclass(frozen=True)
class CaughtLaunch:
    """`kernel[grid](*values)`, as a function of the file wrote it.

    Args:
        grid: numbers of programs, or a function of the values and the configuration that gives
            them.
        given: by parameter, the kernel's defaults among them; no options of the compiler.
    """

    grid: Any
    given: dict[str, Any]


def caught_launch(
    file: KernelFile, call: Callable[..., Any], known: Mapping[str, Any]
) -> CaughtLaunch:
    """The first launch of the file's kernel in a function of the file.

    Args:
        file: whose kernel it is.
        call: the function; it ends where it launches the kernel.
        known: what it may take, by name.

    Raises:
        UserError: if the function fails before, or launches nothing, or if the launch has more
            values than the kernel has parameters.
    """
    caught: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    def catch(grid: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        caught.append((grid, arguments, named))
        raise CaughtError

    try:
        with other_kernels_run(), _launches(file, catch):
            call_by_name(file.path, call, known)
    except CaughtError:
        grid, arguments, named = caught[0]
        return CaughtLaunch(grid, _bound(file, arguments, named))
    raise UserError(f"{file.path}: {call.__name__} does not launch {file.function.__name__}")


@contextlib.contextmanager
def refused_launch(file: KernelFile) -> Iterator[None]:
    """Within the block, the file's kernel must not be launched: it would be checked by itself.

    Raises:
        UserError: if it was.
    """

    def refuse(*_: Any, **__: Any) -> None:
        raise CaughtError

    try:
        with _launches(file, refuse):
            yield
    except CaughtError as error:
        raise UserError(
            f"{file.path}: reference launches {file.function.__name__}, which it is to check: "
            "compute its outputs in another way, or remove it, and the default configuration does"
        ) from error


@contextlib.contextmanager
def _launches(
    file: KernelFile, catch: Callable[[Any, tuple[Any, ...], dict[str, Any]], None]
) -> Iterator[None]:
    """Within the block, launches of the file's kernel call a function instead."""

    def catch_own(
        launched: Any, grid: Any, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        function = unwrapped(launched).function
        made_anew = file.is_generated and function.__name__ == file.function.__name__
        if made_anew or function.fn is file.function.fn:
            catch(grid, arguments, named)

    with launches_caught(catch_own):
        yield


def _bound(file: KernelFile, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    names = file.function.arg_names
    if len(arguments) > len(names):
        raise UserError(
            f"{file.path}: the launch has {len(arguments)} values, but {file.function.__name__} "
            f"has {len(names)} parameters"
        )
    defaults = {p.name: p.default for p in file.function.params if p.has_default}
    of_kernel = {n: v for n, v in named.items() if n in names or n not in launch_options()}
    return {**defaults, **dict(zip(names, arguments, strict=False)), **of_kernel}

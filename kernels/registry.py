"""Kernels by name: every other file of this folder with a `SPEC` is one."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from engine.errors import UserError, nearest
from kernels.spec import KernelSpec, Problem

__all__ = ["kernel_names", "load_kernel", "make_problem"]

_NOT_KERNELS = {"__init__", "registry", "spec", "values"}
_MAX_SIZE = 2**31 - 1


def kernel_names() -> list[str]:
    """The registered names, sorted; imports nothing, so that a mistyped name is noticed at once."""
    stems = (path.stem for path in Path(__file__).parent.glob("*.py"))
    return sorted(stem for stem in stems if stem not in _NOT_KERNELS)


def load_kernel(name: str) -> KernelSpec:
    """The kernel of that name.

    Raises:
        UserError: where there is none.
    """
    if name not in kernel_names():
        raise UserError(f"there is no kernel named {name}: {nearest(name, kernel_names())}")
    return cast(KernelSpec, importlib.import_module(f"kernels.{name}").SPEC)


def make_problem(spec: KernelSpec, shape: Mapping[str, int], dtype: str | None = None) -> Problem:
    """The kernel at `shape`; dimensions that are not named keep their default size.

    Raises:
        UserError: for an unknown dimension or element type, a size that is not positive or too
            large for a kernel's integers, and arguments that this machine's memory cannot hold.
    """
    for name, size in shape.items():
        if name not in spec.default_shape:
            raise UserError(
                f"{spec.name} has no dimension {name}: {nearest(name, spec.default_shape)}"
            )
        if size <= 0:
            raise UserError(f"the size of {name} is {size}: give it a positive one")
        if size > _MAX_SIZE:
            raise UserError(
                f"the size of {name} is {size}, and kernels take sizes as 32-bit integers: "
                f"give it at most {_MAX_SIZE}"
            )
    dtype = spec.dtypes[0] if dtype is None else _full_name(dtype)
    if dtype not in spec.dtypes:
        raise UserError(f"{spec.name} does not take {dtype}: {nearest(dtype, spec.dtypes)}")
    problem = Problem(spec, {**spec.default_shape, **shape}, dtype)
    _check_fits_in_memory(problem)
    return problem


def _check_fits_in_memory(problem: Problem) -> None:
    """Refuse what could not even be written down here, before anybody tries to.

    That is a lower bound: the reference computes in more than the kernel's arguments.
    """
    needed_bytes = problem.spec.traffic_bytes(problem)
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed_bytes > memory_bytes:
        raise UserError(
            f"the arguments of {problem.name} take {needed_bytes / 2**30:.0f} GiB, and this "
            f"machine has {memory_bytes / 2**30:.0f} GiB of memory: give --shape smaller sizes"
        )


def _full_name(dtype: str) -> str:
    """Triton's name of an element type that was given the short way ("f32" is "fp32")."""
    return f"fp{dtype[1:]}" if dtype.startswith("f") and dtype[1:].isdigit() else dtype

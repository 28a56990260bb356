"""Runs compiled kernels in this process on the arguments that launchers take, and checks them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from kernels.values import TORCH_TYPES
from launchers import Argument
from triton_rvv.lowering.control.grid_loop import CALL_HEADER
from triton_rvv.runtime.host_assertions import raise_failed_assertion
from triton_rvv.runtime.host_loader import load_object

__all__ = ["run_on_host"]

_FLOATS = {"fp32": "<f", "fp64": "<d"}


def run_on_host(compiled: bytes, arguments: Sequence[Argument], grid: Sequence[int]) -> str:
    """Run every program of `grid` on one thread.

    Args:
        compiled: an object file for this machine, with the loop over programs.
        arguments: in the order of the kernel's own.
        grid: programs along x, y and z.

    Returns:
        What is wrong with the first output that is, or the empty string.
    """
    kernel = load_object(compiled)
    buffers = [_buffer(argument) for argument in arguments if argument.is_pointer]
    addresses = iter(buffers)
    slots = b"".join(
        struct.pack("<Q", next(addresses).ctypes.data) if a.is_pointer else _scalar(a)
        for a in arguments
    )
    programs = math.prod(grid)
    kernel.run_programs(CALL_HEADER.pack(0, programs, programs, *grid, 0) + slots)
    raise_failed_assertion()
    pointers = (argument for argument in arguments if argument.is_pointer)
    checks = (_mismatch(argument, got) for argument, got in zip(pointers, buffers, strict=True))
    return next(filter(None, checks), "")


def _buffer(argument: Argument) -> npt.NDArray[np.generic]:
    """The array that the kernel gets; where it only writes, nothing in it is right beforehand."""
    if argument.value is not None:
        return np.array(argument.value, order="C")
    assert argument.expected is not None
    expected = np.ascontiguousarray(argument.expected)
    inverted = ~expected.view(f"u{expected.itemsize}")
    return inverted.view(expected.dtype)


def _scalar(argument: Argument) -> bytes:
    value = argument.value
    assert isinstance(value, int | float)
    if argument.type in _FLOATS:
        return struct.pack(_FLOATS[argument.type], value).ljust(8, b"\0")
    return struct.pack("<Q", int(value) & (1 << 64) - 1)


def _mismatch(argument: Argument, got: npt.NDArray[np.generic]) -> str:
    if argument.expected is None:
        return ""
    found, expected = (_numbers(argument, array).reshape(-1) for array in (got, argument.expected))
    if expected.is_floating_point():
        tolerance = (argument.atol + argument.rtol * expected.abs()).nan_to_num(0, 0, 0)
        right = (found == expected) | ((found - expected).abs() <= tolerance)
        right |= found.isnan() & expected.isnan()
    else:
        right = found == expected
    wrong = torch.nonzero(~right)
    if len(wrong) == 0:
        return ""
    place = int(wrong[0, 0])
    return f"{argument.name}[{place}] is {found[place]} and should be {expected[place]}"


def _numbers(argument: Argument, array: npt.NDArray[np.generic]) -> torch.Tensor:
    """The elements in a type that torch can compare."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    dtype = TORCH_TYPES[argument.element_type]
    if dtype.is_floating_point:
        return tensor.view(dtype).double()
    return tensor if dtype == torch.uint64 else tensor.long()

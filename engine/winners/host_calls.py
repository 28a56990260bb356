"""Runs a kernel's plain call on CPU tensors, with the winner that is stored for this machine."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence

import torch
from triton.runtime.driver import driver

import triton_rvv
from engine.winners.lookup import NotTunedError, find, wanted
from engine.workers.devices import on_cores
from foundation.config import Config
from foundation.errors import UserError
from foundation.shapes import shape_text
from kernels.plain_calls import plain_call
from kernels.plain_calls.call import Array, config_at, extent
from kernels.registry import load_kernel
from kernels.spec import Problem
from kernels.values import TORCH_TYPES
from rvv_runner.devices import HOST_DEVICE
from triton_rvv.driver import RVVDriver

__all__ = ["checked_inputs", "run_on_host"]

_MOST_ELEMENTS = 2**31 - 1  # kernels count elements in 32 bits
_NAMES_OF_TYPES = {torch_type: name for name, torch_type in TORCH_TYPES.items()}

_log = logging.getLogger("triton_rvv_tuner")
_one_at_a_time = threading.RLock()


def checked_inputs(kernel: str, **tensors: torch.Tensor) -> str:
    """The element type that the tensors share, by Triton's short name.

    Raises:
        UserError: for what is no tensor of a processor, for a type that the kernel does not take,
            for different types, and for a tensor whose gradient is asked for.
    """
    types = {name: _element_type(name, tensor) for name, tensor in tensors.items()}
    (first, dtype), *others = types.items()
    known = load_kernel(kernel).dtypes
    if dtype not in known:
        raise UserError(f"{first} is in {dtype}: {kernel} takes {_listed(known)}")
    for name, other in others:
        if other != dtype:
            raise UserError(f"{first} is in {dtype} and {name} in {other}: convert one of them")
    return dtype


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _element_type(name: str, tensor: object) -> str:
    if not isinstance(tensor, torch.Tensor):
        raise UserError(f"{name} is of {type(tensor).__name__}: give a torch.Tensor")
    if tensor.device.type != "cpu" or tensor.layout != torch.strided:
        raise UserError(f"{name} is not in this processor's memory: give a dense CPU tensor")
    if tensor.numel() > _MOST_ELEMENTS:
        raise UserError(f"{name} has 2^31 elements or more: split the call")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise UserError(f"{name} requires a gradient, which these calls do not have: detach it")
    return _NAMES_OF_TYPES.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))


def run_on_host(
    kernel: str,
    dtype: str,
    sizes: Mapping[str, int],
    arrays: Mapping[str, torch.Tensor],
    numbers: Mapping[str, float] | None = None,
) -> None:
    """Run a kernel with this machine's stored winner for the shape, or with its default.

    Args:
        kernel: one with a plain call.
        dtype: the call's element type.
        sizes: by name.
        arrays: the tensors by their names in the call, with the call's shapes and types; those that
            are written are contiguous.
        numbers: by their names in the call.

    Raises:
        UserError: for a tensor with more elements than kernels can count, and an unreadable
            storage.
    """
    call, spec = plain_call(kernel), load_kernel(kernel)
    values: dict[str, object] = dict(call.integers(sizes))
    for array in call.arrays:
        tensor, stride = _in_rows(array, arrays[array.name])
        values[array.argument] = tensor
        if array.stride:
            values[array.stride] = stride
        if extent(tensor.shape, stride) > _MOST_ELEMENTS:
            raise UserError(f"{array.name} spans 2^31 elements or more: split the call")
    values |= {number.argument: (numbers or {})[number.name] for number in call.numbers}
    problem = Problem(spec, sizes, dtype)
    # A study has no sizes of 0, nor has a search space.
    shape = tuple((name, max(size, 1)) for name, size in sizes.items())
    config = _config(kernel, dtype, shape, triton_rvv.num_threads())
    for room in call.rooms:
        values[room.argument] = torch.zeros(
            room.elements(problem, config), dtype=TORCH_TYPES[room.dtype]
        )
    grid = spec.grid(problem, config)
    if 0 not in grid:
        with _host_is_active():
            spec.kernel[grid](**values, **problem.constants(config))


def _in_rows(array: Array, tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
    """The tensor, copied if its rows are not as the kernel needs them, and their distance."""
    columns = tensor.shape[-1]
    if array.stride and tensor.dim() == 2:
        rows = tensor.shape[0]
        stride = tensor.stride(0) if rows > 1 else columns
        if (columns <= 1 or tensor.stride(1) == 1) and stride >= columns:
            return tensor, stride
    return tensor.contiguous(), columns


@functools.lru_cache(maxsize=4096)
def _config(kernel: str, dtype: str, shape: tuple[tuple[str, int], ...], cores: int) -> Config:
    """The configuration for a shape on so many cores, looked up once in a process."""
    call = plain_call(kernel)
    problem = Problem(load_kernel(kernel), dict(shape), dtype)
    try:
        found = find(wanted(kernel, problem.shape, dtype, on_cores(HOST_DEVICE, cores)))
    except NotTunedError:
        default = problem.default_config
        _log.warning("%s at %s: nothing stored, so %s", kernel, shape_text(problem.shape), default)
        return default
    level = logging.INFO if found.how == "exact" and not found.differs else logging.WARNING
    _log.log(level, "%s: %s", kernel, found)
    return config_at(problem, found.config, call)


@contextlib.contextmanager
def _host_is_active() -> Iterator[None]:
    """Within the block, kernels run on this machine, or where `triton_rvv.activate` said."""
    with _one_at_a_time:
        try:
            before = driver.active
        except RuntimeError:  # Triton knows of nothing else
            before = None
        if isinstance(before, RVVDriver):
            yield
            return
        triton_rvv.activate("host")
        try:
            yield
        finally:
            if before is not None:
                driver.set_active(before)

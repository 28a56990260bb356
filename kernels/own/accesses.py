"""Which arrays a user's kernel reads and which it writes, by its IR."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels.own.launch import Launch
from kernels.values import TORCH_TYPES
from triton_rvv.errors import CompileError
from triton_rvv.frontend.descriptors import part_names
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.make_ttir import make_ttir
from triton_rvv.reached_arguments import reached_arguments
from triton_rvv.targets.target_names import named_target

__all__ = ["Accesses", "accesses_of"]

_NAMES = {torch_type: name for name, torch_type in TORCH_TYPES.items()}


@dataclass(frozen=True)
class Accesses:
    """Names of a launch's tensors.

    Args:
        constant: those that no store reaches.
        only_stored: those that some store reaches, and neither a load nor an atomic operation: what
            is there after a run is for whoever launched the kernel.
        makes_pointers: whether it takes numbers for addresses, which lead nowhere in a process
            other than the one that made them.
    """

    constant: frozenset[str] = frozenset()
    only_stored: frozenset[str] = frozenset()
    makes_pointers: bool = False


def accesses_of(launch: Launch) -> Accesses:
    """What the kernel does in this configuration; nothing is said of what cannot be followed."""
    values, described = launch.values(), launch.descriptors()
    types = {
        name: _triton_type(value, described.get(name))
        for name, value in values.items()
        if value is not None
    }
    constants = {**launch.constants(values), **launch.config}
    function = launch.file.function
    fixed = {p.name for p in function.params if p.is_constexpr} | (constants.keys() - types.keys())
    signature = {n: "constexpr" if n in fixed else types[n] for n in function.arg_names}
    known = {name: constants.get(name) for name in fixed if name in signature}
    try:
        ttir = make_ttir(function, signature, known, frozenset(), named_target("host"))
        found = reached_arguments(parse_module(ttir))
    except CompileError:
        return Accesses()
    makes_pointers = "tt.int_to_ptr" in ttir
    if found is None:
        return Accesses(makes_pointers=makes_pointers)
    passed = [
        part
        for name in function.arg_names
        if signature[name] != "constexpr"
        for part in part_names(name, signature[name])
    ]
    tensors = {name for name in passed if isinstance(values.get(name), torch.Tensor)}
    loaded, stored = ({passed[n] for n in places} for places in (found.loaded, found.stored))
    constant, only_stored = frozenset(tensors - stored), frozenset(tensors & (stored - loaded))
    return Accesses(constant, only_stored, makes_pointers)


def _triton_type(value: object, descriptor: TensorDescriptor | None) -> str:
    if isinstance(value, torch.Tensor):
        if descriptor is not None:
            block = ",".join(map(str, descriptor.block_shape))
            return f"tensordesc<{_NAMES[value.dtype]}[{block}]>"
        return f"*{_NAMES[value.dtype]}"
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64"
    return "fp32"

"""Which arrays a user's kernel reads and which it writes, by its IR."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from foundation.config import Config
from kernels.own.kernel_file import KernelFile
from kernels.own.narrow_types import computes_in_bf16, rounded_to
from kernels.values import TORCH_TYPES
from triton_rvv.errors import CompileError
from triton_rvv.frontend.descriptors import part_names
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.make_ttir import make_ttir
from triton_rvv.reached_arguments import ReachedArguments, reached_arguments
from triton_rvv.targets.target_names import named_target

__all__ = ["Accesses", "accesses_of", "interpreter_lacks", "unused_arguments"]

_NAMES = {torch_type: name for name, torch_type in TORCH_TYPES.items()}


class _Launch(Protocol):
    """A kernel at one shape, element type and configuration: a `Launch`."""

    @property
    def file(self) -> KernelFile: ...

    @property
    def config(self) -> Config: ...

    def values(self) -> dict[str, Any]: ...

    def constants(self, values: Mapping[str, Any]) -> Mapping[str, Any]: ...

    def descriptors(self) -> dict[str, TensorDescriptor]: ...


@dataclass(frozen=True)
class Accesses:
    """Names of a launch's tensors.

    Args:
        constant: those that no store reaches.
        only_stored: those that some store reaches, and neither a load nor an atomic operation: what
            is there after a run is for whoever launched the kernel.
        updated: those that some store reaches, and a load or an atomic operation; all that the
            launch has where accesses cannot be followed.
        counted: those of integers among them, where they can be: counters, locks and flags of its
            own, mostly.
        shifted_by: those that hold how far it shifts other integers.
        makes_pointers: whether it takes numbers for addresses, which lead nowhere in a process
            other than the one that made them.
        rounded_to: the coarsest type, of fp16 and bf16, that it converts to or computes in; None if
            it does neither.
    """

    constant: frozenset[str] = frozenset()
    only_stored: frozenset[str] = frozenset()
    updated: frozenset[str] = frozenset()
    counted: frozenset[str] = frozenset()
    shifted_by: frozenset[str] = frozenset()
    makes_pointers: bool = False
    rounded_to: torch.dtype | None = None

    @property
    def written(self) -> frozenset[str]:
        """Those that some store reaches, or may reach."""
        return self.only_stored | self.updated


@dataclass(frozen=True)
class _Followed:
    """What was found in IR.

    Args:
        found: the arguments that it reaches; None where they cannot be followed.
        makes_pointers, rounded_to: as of `Accesses`.
    """

    found: ReachedArguments | None
    makes_pointers: bool
    rounded_to: torch.dtype | None


_TOLD_BY_REPR = (int, float, str, type(None))
# By kernel, then by the source, types and constants that its IR follows from.
_FOLLOWED: weakref.WeakKeyDictionary[Any, dict[str, _Followed | None]] = weakref.WeakKeyDictionary()


def accesses_of(launch: _Launch) -> Accesses:
    """What the kernel does in this configuration; nothing is said of what cannot be followed."""
    values = launch.values()
    signature = _signature(launch, values)
    followed = _followed(launch, values, signature)
    if followed is None:
        return Accesses()
    found, makes_pointers, narrow = followed.found, followed.makes_pointers, followed.rounded_to
    if found is None:
        every = frozenset(n for n, value in values.items() if isinstance(value, torch.Tensor))
        return Accesses(updated=every, makes_pointers=makes_pointers, rounded_to=narrow)
    passed = [
        part
        for name in launch.file.function.arg_names
        if signature[name] != "constexpr"
        for part in part_names(name, signature[name])
    ]
    tensors = {name for name in passed if isinstance(values.get(name), torch.Tensor)}
    loaded, stored = ({passed[n] for n in places} for places in (found.loaded, found.stored))
    constant, only_stored = frozenset(tensors - stored), frozenset(tensors & (stored - loaded))
    updated = frozenset(tensors & stored & loaded)
    counted = frozenset(n for n in updated if not values[n].is_floating_point())
    shifted_by = frozenset(tensors & {passed[number] for number in found.shifted_by})
    return Accesses(constant, only_stored, updated, counted, shifted_by, makes_pointers, narrow)


def _followed(
    launch: _Launch, values: Mapping[str, Any], signature: dict[str, str]
) -> _Followed | None:
    """What the kernel's IR says; None where it cannot be compiled. A first check asks for it six
    times, and to make the IR takes longer than to read it."""
    known = _known(launch, values, signature)
    function = launch.file.function
    kept = _FOLLOWED.setdefault(function.fn, {})  # the hash of `function` itself is of its source
    key = repr((function.src, signature, known))
    if key not in kept or not all(isinstance(value, _TOLD_BY_REPR) for value in known.values()):
        try:
            ttir = _ttir(launch, values, signature)
            module = parse_module(ttir)
            pointers, narrow = "tt.int_to_ptr" in ttir, rounded_to(module)
            kept[key] = _Followed(reached_arguments(module), pointers, narrow)
        except CompileError:
            kept[key] = None
    return kept[key]


def unused_arguments(launch: _Launch) -> frozenset[str]:
    """Names of the arguments, constants aside, that the kernel does not use in this configuration;
    none where it cannot be compiled."""
    values = launch.values()
    signature = _signature(launch, values)
    try:
        module = parse_module(_ttir(launch, values, signature))
    except CompileError:
        return frozenset()
    (block,) = module.regions[0].blocks
    kernel = next(op for op in block.operations if op.name == "tt.func")
    names = [
        name
        for name in launch.file.function.arg_names
        if signature[name] != "constexpr"
        for _part in part_names(name, signature[name])
    ]
    parts = zip(names, kernel.regions[0].blocks[0].arguments, strict=True)
    used = {name for name, value in parts if value.uses}
    return frozenset(names) - used


def interpreter_lacks(launch: _Launch, values: Mapping[str, Any]) -> bool:
    """Whether Triton's interpreter would give wrong numbers: it adds the bits of bf16.

    Args:
        launch: with the default configuration.
        values: of the arguments.
    """
    try:
        return computes_in_bf16(parse_module(_ttir(launch, values, _signature(launch, values))))
    except CompileError:
        return False


def _signature(launch: _Launch, values: Mapping[str, Any]) -> dict[str, str]:
    described = launch.descriptors()
    types = {
        name: _triton_type(value, described.get(name))
        for name, value in values.items()
        if value is not None
    }
    constants = {**launch.constants(values), **launch.config}
    function = launch.file.function
    fixed = {p.name for p in function.params if p.is_constexpr} | (constants.keys() - types.keys())
    return {n: "constexpr" if n in fixed else types[n] for n in function.arg_names}


def _ttir(launch: _Launch, values: Mapping[str, Any], signature: dict[str, str]) -> str:
    known = _known(launch, values, signature)
    return make_ttir(launch.file.function, signature, known, frozenset(), named_target("host"))


def _known(launch: _Launch, values: Mapping[str, Any], signature: dict[str, str]) -> dict[str, Any]:
    """The values of what is compiled in."""
    constants = {**launch.constants(values), **launch.config}
    return {name: constants.get(name) for name, kind in signature.items() if kind == "constexpr"}


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

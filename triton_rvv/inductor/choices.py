"""Inductor's decisions that depend on a processor's vectors and cores rather than on a GPU's.

A program of a kernel is a loop over vectors here, not a group of threads. Blocks that fit into
vector registers are fastest: larger ones would pass through memory between the operations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch._inductor.choices import InductorChoices
from torch._inductor.codegen.simd_kernel_features import SIMDKernelFeatures
from torch._inductor.codegen.triton import FixedTritonConfig
from torch._inductor.runtime.hints import ReductionHint
from torch._inductor.runtime.runtime_utils import next_power_of_2
from torch._inductor.virtualized import V

from triton_rvv.inductor.codegen import HostKernel
from triton_rvv.version import backend_version

__all__ = ["HostChoices"]

# Elements of a block that stay in registers: measured on fp32 with vectors of 512 bits.
REGISTER_BLOCK = 128

# Elements of a block of a reduction over the outer dimension. Its rows are vectors across the
# reduced dimension, so each step costs the same for few elements as for many.
_OUTER_BLOCK = 2048

# A program reduces up to so many elements, or twice as many where they are not divided evenly; that
# takes about 10 us. More would leave threads idle, and add too many numbers in one lane: sums of
# float32 lose a digit with every hundredfold.
_ELEMENTS_PER_PROGRAM = 1 << 16


class HostChoices(InductorChoices):
    """Decisions for the host; those on other devices are Inductor's own."""

    def uuid(self) -> str:
        """What Inductor's cache of compiled graphs has to hold of this package."""
        return backend_version()

    def triton_kernel_kwargs(
        self,
        kernel_cls: type[Any],
        features: SIMDKernelFeatures,
        groups: list[Any],
        kernel_kwargs: dict[str, Any],
    ) -> dict[str, Any]:
        if not issubclass(kernel_cls, HostKernel):
            return kernel_kwargs
        (tiling,) = groups
        numels = {name: V.graph.sizevars.simplify(numel) for name, numel in tiling.items()}
        if not features.is_reduction():
            return {**kernel_kwargs, "fixed_config": _fixed(_pointwise_blocks(numels))}
        if "y" in numels or "r1_" in numels:
            return kernel_kwargs
        is_persistent = kernel_kwargs.get(
            "override_persistent_reduction", _fits_registers(numels["r0_"])
        )
        hint = features.get_reduction_hint(kernel_kwargs.get("tiling_scores"))
        blocks = _reduction_blocks(numels, hint, is_persistent)
        return {
            **kernel_kwargs,
            "override_persistent_reduction": is_persistent,
            "fixed_config": _fixed(blocks),
        }

    @staticmethod
    def reduction_split_factor(
        device: torch.device, reduction_numel_hint: int, numel_hint: int, inner_reduction: bool
    ) -> int:
        if device.type != "cpu":
            return InductorChoices.reduction_split_factor(
                device, reduction_numel_hint, numel_hint, inner_reduction
            )
        columns = 1 if inner_reduction else min(numel_hint, REGISTER_BLOCK)
        return _near_divisor(
            reduction_numel_hint, reduction_numel_hint * columns // _ELEMENTS_PER_PROGRAM
        )


def _pointwise_blocks(numels: Mapping[str, Any]) -> dict[str, int]:
    """A block along the last dimension, and along the others what room that leaves."""
    blocks, room = {}, REGISTER_BLOCK
    for name in ("x", "y", "z"):
        if name in numels:
            blocks[name] = _block(numels[name], room)
            room //= blocks[name]
    return blocks


def _reduction_blocks(
    numels: Mapping[str, Any], hint: ReductionHint, is_persistent: bool
) -> dict[str, int]:
    """One row at a time where rows lie in memory one after another, else many columns."""
    if is_persistent:
        width = next_power_of_2(_size(numels["r0_"]))
        return {"x": _block(numels["x"], max(REGISTER_BLOCK // width, 1))}
    if hint == ReductionHint.INNER:
        return {"x": 1, "r0_": _block(numels["r0_"], REGISTER_BLOCK)}
    columns = _block(numels["x"], REGISTER_BLOCK)
    return {"x": columns, "r0_": _block(numels["r0_"], _OUTER_BLOCK // columns)}


def _block(numel: Any, most: int) -> int:
    """A power of two up to `most` that covers `numel`, or else divides it without a remainder.

    A block that divides its dimension needs no mask, but one of less than half of `most` costs more
    than masks do.
    """
    size = _size(numel)
    covering = min(next_power_of_2(size), most)
    dividing = math.gcd(size, most)
    is_known = V.graph.sizevars.statically_known_equals(numel, size)
    return dividing if is_known and 2 * dividing >= covering else covering


def _size(numel: Any) -> int:
    return max(int(V.graph.sizevars.optimization_hint(numel)), 1)


def _fits_registers(numel: Any) -> bool:
    return bool(V.graph.sizevars.statically_known_leq(numel, REGISTER_BLOCK))


def _near_divisor(numel: int, wanted: int) -> int:
    """A divisor of `numel` within a factor of two of `wanted`; parts of one size need no mask."""
    if wanted < 2:
        return 1
    dividing = (count for count in range(wanted // 2, 2 * wanted + 1) if numel % count == 0)
    return min(dividing, key=lambda count: abs(count - wanted), default=wanted)


def _fixed(blocks: Mapping[str, int]) -> FixedTritonConfig:
    return FixedTritonConfig({f"{name.upper()}BLOCK": size for name, size in blocks.items()})

"""The targets by the names that commands and the environment take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_rvv.targets.cores import CORES
from triton_rvv.targets.matrix_unit import MATRIX_EXTENSION
from triton_rvv.targets.target import SUPPORTED_VLEN_BITS, RVVTarget, Target

if TYPE_CHECKING:  # Triton imports this module while it is being imported itself
    from triton.backends.compiler import GPUTarget

__all__ = ["RUNNABLE_TARGETS", "called_target", "named_target"]

_VLEN_BITS = {f"rvv{vlen_bits}": vlen_bits for vlen_bits in SUPPORTED_VLEN_BITS}

# Those that kernels can be called on: no QEMU knows SpacemiT's matrix instructions.
RUNNABLE_TARGETS = (
    "host",
    *_VLEN_BITS,
    *(name for name, core in CORES.items() if MATRIX_EXTENSION not in core.extensions),
)


def called_target(target: GPUTarget) -> Target:
    """The target behind what Triton is told when Python calls a kernel; see `RVVBackend`."""
    return named_target(target.arch if target.arch in RUNNABLE_TARGETS else "host")


def named_target(name: str) -> Target:
    """The target that a name stands for.

    Args:
        name: "host", "rvv256" for any core of that vector length, or a core or a profile, with
            another vector length after a colon where wanted: "x60", "rva23:128".

    Raises:
        ValueError: for any other name.
    """
    if name == "host":
        from triton_rvv.targets.host_target import host_target

        return host_target()
    if name in _VLEN_BITS:
        return RVVTarget(vlen_bits=_VLEN_BITS[name])
    core, colon, vlen_bits = name.partition(":")
    if core not in CORES:
        names = ", ".join([*_VLEN_BITS, *CORES, "host"])
        raise ValueError(f"there is no target {name}: choose one of {names}")
    if colon and vlen_bits not in map(str, SUPPORTED_VLEN_BITS):
        lengths_bits = ", ".join(map(str, SUPPORTED_VLEN_BITS))
        raise ValueError(
            f"{name} names no vector length: write one of {lengths_bits} after {core}:"
        )
    return RVVTarget.named(core, int(vlen_bits) if colon else None)

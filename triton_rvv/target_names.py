"""The targets by the names that commands and the environment take."""

from __future__ import annotations

from triton_rvv.target import SUPPORTED_VLEN_BITS, RVVTarget, Target

__all__ = ["TARGET_NAMES", "named_target"]

_VLEN_BITS = {f"rvv{vlen_bits}": vlen_bits for vlen_bits in SUPPORTED_VLEN_BITS}
TARGET_NAMES = (*_VLEN_BITS, "host")


def named_target(name: str) -> Target:
    """The target that a name such as "rvv256" or "host" stands for.

    Raises:
        ValueError: for any other name.
    """
    if name == "host":
        from triton_rvv.host_target import host_target

        return host_target()
    if name not in _VLEN_BITS:
        raise ValueError(f"there is no target {name}: choose one of {', '.join(TARGET_NAMES)}")
    return RVVTarget(vlen_bits=_VLEN_BITS[name])

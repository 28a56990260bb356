"""Symbols of the external functions that read a special register: they have no operands."""

from __future__ import annotations

__all__ = ["CORE", "NANOSECONDS"]

NANOSECONDS, CORE = "triton_rvv_nanoseconds", "triton_rvv_core"

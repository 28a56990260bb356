"""Kinds of operations, by the beginnings of their names, for passes that follow blocks."""

from __future__ import annotations

__all__ = ["ADDRESSES", "ELEMENTWISE", "SPREADS", "WITHOUT_MEMORY"]

# Each element is computed of the operands' elements at the same place: numbers, and addresses.
ELEMENTWISE = ("arith.", "math.", "tt.fp_to_fp", "tt.clampf", "tt.precise_", "tt.mulhiui")
ADDRESSES = ("tt.addptr", "tt.bitcast")
# What is given is repeated, or gets a dimension more.
SPREADS = ("tt.splat", "tt.broadcast", "tt.expand_dims")
# Neither reads nor changes memory.
WITHOUT_MEMORY = (*ELEMENTWISE, *ADDRESSES, *SPREADS, "tt.make_range")

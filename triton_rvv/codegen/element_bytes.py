"""How large numbers are whose addresses LLVM's IR counts in elements."""

from __future__ import annotations

from triton_rvv.lowering.llvm.values import element_bits

__all__ = ["ELEMENT_BYTES"]

_TYPES = ("i8", "i16", "i32", "i64", "half", "bfloat", "float", "double")
# By LLVM's type; of others, such as i1, corrections of stores leave alone what they find.
ELEMENT_BYTES = {type_: element_bits(type_) // 8 for type_ in _TYPES}

"""Assembly of a GPU that is one function, as the operation that computes it.

Kernels write `tanh.approx.f32 $0, $1;` where the GPU's approximation is as good to them as the
function, which is what the operation gives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from triton_rvv.frontend.attributes import Attribute
from triton_rvv.frontend.four_bit_assembly import conversion
from triton_rvv.frontend.types import ScalarType, Type, element_type

__all__ = ["ASSEMBLY", "as_function"]

# The operation for `tl.inline_asm_elementwise`.
ASSEMBLY = "tt.elementwise_inline_asm"

# By instruction and number of operands. Results too small for a normal number, which `.ftz` makes
# zero, are left.
_OPERATIONS = {
    ("cos.approx", 1): "math.cos",
    ("div.approx", 2): "arith.divf",
    ("div.full", 2): "arith.divf",
    ("ex2.approx", 1): "math.exp2",
    ("fma.rn", 3): "math.fma",
    ("lg2.approx", 1): "math.log2",
    ("rsqrt.approx", 1): "math.rsqrt",
    ("sin.approx", 1): "math.sin",
    ("sqrt.approx", 1): "math.sqrt",
}
_SYMBOLS = {("rcp.approx", 1): "__nv_frcp_rn", ("tanh.approx", 1): "__nv_tanhf"}

_TEXT = re.compile(r"\s*([a-z0-9]+\.[a-z]+)(?:\.ftz)?\.f32\s+\$0((?:\s*,\s*\$\d)+)\s*;?\s*")
_F32 = ScalarType("f32")


def as_function(
    attributes: Mapping[str, Attribute], operands: Sequence[Type], results: Sequence[Type]
) -> tuple[str, dict[str, Attribute]] | None:
    """The name and the attributes of an operation that computes what assembly does.

    Args:
        attributes: of the assembly's operation.
        operands: their types.
        results: their types.

    Returns:
        None where the assembly is anything but one instruction, or one conversion, that is known.
    """
    text, packed = str(attributes.get("asm_string", "")), attributes.get("packed_element")
    symbol = conversion(text, packed, operands, results) if isinstance(packed, int) else None
    if symbol is not None:
        return "tt.extern_elementwise", {"symbol": symbol, "pure": True}
    found = _TEXT.fullmatch(text)
    if found is None or len(results) != 1 or packed != 1:
        return None
    if any(element_type(one) != _F32 for one in (*operands, *results)):
        return None
    named = [int(number) for number in re.findall(r"\d", found[2])]
    if named != list(range(1, len(operands) + 1)):
        return None
    key = (found[1], len(operands))
    if key in _OPERATIONS:
        return _OPERATIONS[key], {}
    if key in _SYMBOLS:
        return "tt.extern_elementwise", {"symbol": _SYMBOLS[key], "pure": True}
    return None

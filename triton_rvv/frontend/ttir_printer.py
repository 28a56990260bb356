"""Prints the parsed IR as text that the parser reads back, in MLIR's generic form.

%5 = "arith.addi"(%3, %4) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32> // add.py:7
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence

from triton_rvv.errors import CompileError
from triton_rvv.frontend.attributes import Attribute, DenseAttribute, parse_attribute
from triton_rvv.frontend.float_formats import SMALL_FLOATS
from triton_rvv.frontend.ttir import Block, Operation, Region, Value
from triton_rvv.frontend.types import ScalarType, Type, element_type

__all__ = ["print_ir"]

_INDENT = "  "
_CONSTANT = "arith.constant"
# Text that MLIR writes without quotation marks: names of functions, types, other attributes.
_BARE = re.compile(r"[#@!(][^\n{}\[\]]*")
_RESULT_NUMBER = re.compile(r"#\d+$")


def print_ir(operation: Operation, note: Callable[[Operation], str] = lambda _: "") -> str:
    """An operation with all that is inside it, such as a module.

    Args:
        operation: the outermost one.
        note: what a comment behind an operation says of it; "" for nothing. The kernel's source
            line follows where it is known.
    """
    return "\n".join(_lines(operation, "", note)) + "\n"


def _lines(operation: Operation, indent: str, note: Callable[[Operation], str]) -> Iterator[str]:
    head = f"{indent}{_result_names(operation.results)}{_head(operation)}"
    comment = " ".join(filter(None, (note(operation), operation.line.rpartition("/")[2])))
    tail = f"{_attributes(operation)}{_function_type(operation)}"
    tail += f" // {comment}" if comment else ""
    if not operation.regions:
        yield head + tail
        return
    yield f"{head} ({{"
    for number, region in enumerate(operation.regions):
        if number:
            yield f"{indent}}}, {{"
        yield from _region(region, indent, note)
    yield f"{indent}}}){tail}"


def _region(region: Region, indent: str, note: Callable[[Operation], str]) -> Iterator[str]:
    for block in region.blocks:
        if block.label or block.arguments:
            yield f"{indent}^{_label(block)}({', '.join(map(_typed, block.arguments))}):"
        for operation in block.operations:
            yield from _lines(operation, indent + _INDENT, note)


def _label(block: Block) -> str:
    return block.label or "bb0"


def _typed(value: Value) -> str:
    return f"{value.name}: {value.type}"


def _result_names(results: Sequence[Value]) -> str:
    """`%a = `, or `%a:2 = ` where the results are parts of one name; the parser splits it."""
    if not results:
        return ""
    group = _RESULT_NUMBER.sub("", results[0].name)
    if [value.name for value in results] == [f"{group}#{n}" for n in range(len(results))]:
        return f"{group}:{len(results)} = "
    return f"{', '.join(value.name for value in results)} = "


def _head(operation: Operation) -> str:
    operands = ", ".join(value.name for value in operation.operands)
    successors = ", ".join(f"^{label}" for label in operation.successors)
    return f'"{operation.name}"({operands})' + (f"[{successors}]" if successors else "")


def _attributes(operation: Operation) -> str:
    if not operation.attributes:
        return ""
    float_type = "f64"
    if operation.name == _CONSTANT:
        element = element_type(operation.result.type)
        if isinstance(element, ScalarType) and element.is_float:
            float_type = element.name
    return f" {_attribute(operation.attributes, float_type)}"


def _function_type(operation: Operation) -> str:
    results = [value.type for value in operation.results]
    made = str(results[0]) if len(results) == 1 else f"({_types(results)})"
    return f" : ({_types([value.type for value in operation.operands])}) -> {made}"


def _types(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types))


def _attribute(value: Attribute, float_type: str) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float():
            return f"{_float(value, float_type)} : {float_type}"
        case str():
            return value if _is_bare(value) else _quoted(value)
        case DenseAttribute():
            element = str(value.type.element)
            numbers = ", ".join(_number(number, element) for number in value.elements)
            text = numbers if len(value.elements) == 1 else f"[{numbers}]"
            return f"dense<{text}> : {value.type}"
        case list():
            return f"[{', '.join(_attribute(item, float_type) for item in value)}]"
        case dict():
            items = (
                k if v is None else f"{k} = {_attribute(v, float_type)}" for k, v in value.items()
            )
            return f"{{{', '.join(items)}}}"
        case None:
            return "unit"


def _number(number: float, type_: str) -> str:
    return str(number) if isinstance(number, int) else _float(number, type_)


def _float(number: float, type_: str) -> str:
    """A number that reads back as the same one; infinities and NaN are written as their bits."""
    if math.isfinite(number):
        return repr(number)
    if type_ in SMALL_FLOATS:
        return f"0x{SMALL_FLOATS[type_].encode(number):X}"
    bits = struct.pack("<f" if type_ == "f32" else "<d", number)
    return f"0x{int.from_bytes(bits, 'little'):X}"


def _is_bare(text: str) -> bool:
    try:
        return bool(_BARE.fullmatch(text)) and parse_attribute(f"{{a = {text}, b}}") == {
            "a": text,
            "b": None,
        }
    except CompileError:
        return False


def _quoted(text: str) -> str:
    escaped = text.encode("utf-8", "surrogateescape")
    plain = (
        chr(byte) if 32 <= byte < 127 and byte not in (34, 92) else f"\\{byte:02X}"
        for byte in escaped
    )
    return f'"{"".join(plain)}"'

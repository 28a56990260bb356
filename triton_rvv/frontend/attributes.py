"""Reads MLIR's attributes: numbers, strings, lists, dictionaries and dense constants."""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from triton_rvv.errors import CompileError
from triton_rvv.frontend.float_formats import SMALL_FLOATS
from triton_rvv.frontend.types import ScalarType, TensorType, parse_type

__all__ = ["Attribute", "DenseAttribute", "parse_attribute", "parse_dictionary"]


@dataclass(frozen=True, slots=True)
class DenseAttribute:
    """The elements of a constant tensor in row-major order, or the one that fills it."""

    type: TensorType
    elements: tuple[int | float, ...]


# Anything else keeps its text.
Attribute = (
    int | float | bool | str | DenseAttribute | list["Attribute"] | dict[str, "Attribute"] | None
)

_KEY = re.compile(r'\s*"?([\w.$]+)"?\s*(=)?')
_SEPARATOR = re.compile(r'"|->|[<({\[>)}\],]')
_NUMBER = re.compile(r"(-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?))(?:\s*:\s*(\w+))?$")
_DENSE = re.compile(r"dense<(.*)>\s*:\s*(tensor<.*>)$", re.DOTALL)
_ARRAY = re.compile(r"array<\w+(?::\s*(.*))?>$")
_FLOAT_BITS = {"f32": "<f", "f64": "<d"}


def parse_attribute(text: str) -> Attribute:
    """Read one attribute; one of a kind that is not known is returned as its text."""
    text = text.strip()
    if text.startswith("{"):
        return dict(parse_dictionary(text[1:-1]))
    if text.startswith("["):
        return [parse_attribute(item) for item in _split(text[1:-1])]
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"'):
        return _unescaped(text[1:-1])
    if match := _NUMBER.match(text):
        return _number(match[1], match[2] or "i64")
    if match := _DENSE.match(text):
        return _dense(match[1], match[2])
    if match := _ARRAY.match(text):
        return [_number(item, "i64") for item in (match[1] or "").split(", ") if item]
    return text


def _unescaped(body: str) -> str:
    """A string's text; MLIR writes a backslash twice, and other bytes as two hexadecimal digits."""
    data = re.sub(
        rb"\\(\\|[0-9A-F]{2})",
        lambda match: b"\\" if match[1] == b"\\" else bytes.fromhex(match[1].decode()),
        body.encode(),
    )
    return data.decode(errors="replace")


@functools.lru_cache(maxsize=1024)
def parse_dictionary(body: str) -> Mapping[str, Attribute]:
    """Read attributes by name, as they stand between brackets; most are many operations' own."""
    entries: dict[str, Attribute] = {}
    for item in _split(body):
        key = _KEY.match(item)
        if key is None:
            raise CompileError(f"the attribute {item!r} cannot be read")
        entries[key[1]] = parse_attribute(item[key.end() :]) if key[2] else None
    return entries


def _number(text: str, type_name: str) -> int | float:
    """A number of the given MLIR type; hexadecimal floats are their bits."""
    if type_name in _FLOAT_BITS or type_name in SMALL_FLOATS:
        return _float_from_bits(int(text, 16), type_name) if "0x" in text else float(text)
    return int(text, 0)


def _float_from_bits(bits: int, type_name: str) -> float:
    if type_name in SMALL_FLOATS:
        return SMALL_FLOATS[type_name].decode(bits)
    layout = _FLOAT_BITS[type_name]
    size_bytes = struct.calcsize(layout)
    return float(struct.unpack(layout, bits.to_bytes(size_bytes, "little"))[0])


def _dense(body: str, type_text: str) -> DenseAttribute:
    tensor = parse_type(type_text)
    if not isinstance(tensor, TensorType) or not isinstance(tensor.element, ScalarType):
        raise CompileError(f"a constant of type {type_text} is not supported")
    if body.startswith('"0x'):
        return DenseAttribute(tensor, _from_blob(bytes.fromhex(body[3:-1]), tensor.element))
    items = re.sub(r"[\[\]\s]", "", body).split(",")
    words = {"true": "1", "false": "0"}
    elements = [_number(words.get(item, item), tensor.element.name) for item in items]
    return DenseAttribute(tensor, tuple(elements))


def _from_blob(data: bytes, element: ScalarType) -> tuple[int | float, ...]:
    """The elements of a large constant, which MLIR prints as raw little-endian bytes."""
    size = element.size_bytes
    words = (int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size))
    if element.is_float:
        return tuple(_float_from_bits(word, element.name) for word in words)
    return tuple(words)


def _split(body: str) -> list[str]:
    """The items of a list, split at the commas outside of brackets and strings."""
    items, depth, start, position = [], 0, 0, 0
    while stop := _SEPARATOR.search(body, position):
        at, token = stop.start(), stop[0]
        if token == '"':
            at = body.index('"', at + 1)
        elif token == "," and depth == 0:
            items.append(body[start:at])
            start = at + 1
        depth += (token in "<({[") - (token in ">)}]")
        position = at + len(token)
    if body[start:].strip():
        items.append(body[start:])
    return items

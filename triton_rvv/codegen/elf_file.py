"""Reads and writes the tables of 64-bit little-endian ELF files: System V ABI, chapters 4 and 5.

What is read is changed and written again, and pyelftools writes nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

__all__ = [
    "HEADER",
    "SECTION",
    "SEGMENT",
    "SYMBOL",
    "ElfFile",
    "Relocation",
    "Section",
    "Segment",
    "Strings",
    "Symbol",
    "string_at",
]

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")


class Segment(NamedTuple):
    """A program header."""

    type: int
    flags: int
    offset: int
    address: int
    physical: int
    file_size: int
    memory_size: int
    align: int


class Section(NamedTuple):
    """A section header; `name` is a place among the names of sections."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


class Symbol(NamedTuple):
    """An entry of a symbol table; `name` is a place in its strings."""

    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


class Relocation(NamedTuple):
    """A place in a section, what to put there, and the symbol that it leads to."""

    offset: int
    symbol: int
    type: int
    addend: int


SEGMENT = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_SYMBOL_TABLE = 2


@dataclass(frozen=True)
class ElfFile:
    """A file's content with its tables.

    Raises:
        struct.error, ValueError: for what is no such file.
    """

    content: bytes

    def __post_init__(self) -> None:
        if self.content[:6] != b"\x7fELF\x02\x01":
            raise ValueError("this is no 64-bit little-endian ELF file")

    def header(self) -> list[int | bytes]:
        """The fields of the file's header, as `HEADER` packs them."""
        return list(HEADER.unpack_from(self.content))

    def segments(self) -> list[Segment]:
        """The program headers."""
        fields = HEADER.unpack_from(self.content)
        return [
            Segment(*SEGMENT.unpack_from(self.content, fields[5] + n * SEGMENT.size))
            for n in range(fields[10])
        ]

    def sections(self) -> list[Section]:
        """The section headers."""
        fields = HEADER.unpack_from(self.content)
        return [
            Section(*SECTION.unpack_from(self.content, fields[6] + n * SECTION.size))
            for n in range(fields[12])
        ]

    def data(self, section: Section) -> bytes:
        """What a section holds in the file."""
        return self.content[section.offset : section.offset + section.size]

    def symbols(self, sections: list[Section]) -> tuple[list[Symbol], bytes]:
        """The symbol table and its strings; both empty where there is none."""
        for section in sections:
            if section.type == _SYMBOL_TABLE:
                found = map(Symbol._make, SYMBOL.iter_unpack(self.data(section)))
                return list(found), self.data(sections[section.link])
        return [], b""

    def relocations(self, section: Section) -> Iterable[Relocation]:
        """The entries of a section of relocations with addends."""
        for offset, info, addend in _RELOCATION.iter_unpack(self.data(section)):
            yield Relocation(offset, info >> 32, info & 0xFFFFFFFF, addend)


class Strings:
    """A table of strings that grows."""

    def __init__(self, begun: bytes) -> None:
        self.content = bytearray(begun)

    def place(self, text: bytes) -> int:
        """Where `text` lies from now on."""
        place = len(self.content)
        self.content += text + b"\0"
        return place


def string_at(strings: bytes, place: int) -> bytes:
    """The string that begins at a place of a table."""
    return strings[place : strings.index(b"\0", place)]

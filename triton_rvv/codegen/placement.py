"""Puts a kernel's object into a program that is linked already but for the kernel.

A link of the launcher and libc takes 15 ms, and only the kernel differs from one to the next. So
they are linked once, with the kernel's symbols at fixed addresses, and each kernel is placed there
in a segment of its own. That takes what LLVM's objects for kernels hold on RISC-V and x86-64: code,
constants, and distances between them. Objects with anything else are for a linker.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.codegen.elf_file import (
    HEADER,
    SECTION,
    SEGMENT,
    SYMBOL,
    ElfFile,
    Relocation,
    Section,
    Segment,
    Strings,
    Symbol,
    string_at,
)

__all__ = ["PLACE_FLAGS", "Program", "linked_program", "with_kernel"]

# Behind the program, in reach of its instructions. Not farther: in QEMU, memory of a process that
# calls kernels there cannot lie where they do.
_START = 0x1100000
_PAGE = 4096
# In front of the code: the vector length and the kernel's name.
_NAME_AT, _CODE_AT = 8, 256
_FIXED = {
    b"triton_rvv_vlen_bits": _START,
    b"triton_rvv_kernel_name": _START + _NAME_AT,
    b"triton_rvv_kernel": _START + _CODE_AT,
}
# What objects for this machine hold for calls from Python; no program refers to it.
_FOR_CALLS = b"triton_rvv_run_programs"
# The linker's options for a program without its kernel.
PLACE_FLAGS = tuple(f"--defsym={name.decode()}={address:#x}" for name, address in _FIXED.items())

_PROGBITS, _RELA, _ATTRIBUTES = 1, 4, 0x70000003
_ALLOC, _EXEC, _MERGE, _STRINGS = 2, 4, 0x10, 0x20
_LOAD, _SPARE_SEGMENT, _ATTRIBUTES_SEGMENT = 1, 0x6474E550, 0x70000003  # PT_GNU_EH_FRAME
_RELOCATABLE, _LOCAL, _ABSOLUTE, _FILE = 1, 0, 0xFFF1, 4
_RISCV, _X86_64 = 243, 62
_CALL, _CALL_PLT, _HIGH, _LOW, _LOW_OF_STORE = 18, 19, 23, 24, 25
_DISTANCE, _DISTANCE_OF_CALL = 2, 4  # of x86-64


class _NeedsLinkerError(Exception):
    """An object that holds more than is placed here."""


@dataclass(frozen=True)
class Program:
    """A program that is linked but for its kernel.

    Args:
        image: the file as far as it is loaded.
        elf: the whole file.
        sections: of the file; the last three are its symbols and the two tables of names.
        addresses: of what it defines for others.
        symbols: its tables of local and of other symbols, without the kernel's own.
        strings: their names.
    """

    image: bytes
    elf: ElfFile
    sections: Sequence[Section]
    addresses: Mapping[bytes, int]
    symbols: tuple[bytes, bytes]
    strings: bytes


def linked_program(content: bytes) -> Program | None:
    """What `with_kernel` needs of an executable, which was linked with `PLACE_FLAGS`.

    None where a kernel cannot be added to it.
    """
    elf = ElfFile(content)
    sections, segments = elf.sections(), elf.segments()
    symbols, strings = elf.symbols(sections)
    is_low = all(each.address + each.memory_size <= _START for each in segments)
    has_room = any(each.type == _SPARE_SEGMENT for each in segments)
    names = [string_at(elf.data(sections[-2]), each.name) for each in sections[-3:]]
    if not (is_low and has_room and names == [b".symtab", b".shstrtab", b".strtab"]):
        return None
    end = max(each.offset + each.file_size for each in segments if each.type == _LOAD)
    others = [each for each in symbols if each.info >> 4 != _LOCAL]
    addresses = {string_at(strings, each.name): each.value for each in others if each.section}
    local = _table(each for each in symbols if each.info >> 4 == _LOCAL)
    kept = _table(each for each in others if string_at(strings, each.name) not in _FIXED)
    return Program(content[:end], elf, sections, addresses, (local, kept), strings)


def _table(symbols: Iterable[Symbol]) -> bytes:
    return b"".join(SYMBOL.pack(*symbol) for symbol in symbols)


def with_kernel(program: Program, compiled: bytes) -> bytes | None:
    """The executable of a program and a kernel's object; None where a linker has to make it."""
    try:
        kernel = _Kernel(ElfFile(compiled), program)
        return _written(program, kernel)
    except (_NeedsLinkerError, LookupError, ValueError, struct.error):
        return None  # of what is damaged, the linker says what is wrong


class _Kernel:
    """A kernel's object at its place.

    Attributes:
        memory: what is loaded at `_START`.
        sections: of the object those that are loaded, with their address.
        symbols: with their address, and their names.
        attributes: what the object's code asks of a core.
    """

    def __init__(self, elf: ElfFile, program: Program) -> None:
        ours, theirs = elf.header(), program.elf.header()
        if ours[1] != _RELOCATABLE or ours[2] != theirs[2] or ours[7] != theirs[7]:
            raise _NeedsLinkerError  # which says what is wrong
        self._all = elf.sections()
        self._elf, self._program = elf, program
        self.memory = bytearray(_CODE_AT)
        self.sections: dict[int, Section] = {}
        self.attributes = b""
        self._place_sections()
        found, self._strings = elf.symbols(self._all)
        self._found = found
        self._relocate()
        self.symbols = list(self._placed_symbols())
        self._fill_front()

    def _place_sections(self) -> None:
        def is_code(number: int) -> bool:
            return bool(self._all[number].flags & _EXEC)

        for number in sorted(range(len(self._all)), key=is_code, reverse=True):
            section = self._all[number]
            if section.type == _ATTRIBUTES:
                self.attributes = self._elf.data(section)
            if not section.flags & _ALLOC or not section.size:
                continue
            if section.type != _PROGBITS or section.flags & ~(_ALLOC | _EXEC | _MERGE | _STRINGS):
                raise _NeedsLinkerError
            self.memory += bytes(-len(self.memory) % section.align)
            self.sections[number] = section._replace(address=_START + len(self.memory))
            self.memory += self._elf.data(section)

    def _address(self, number: int) -> int:
        """Of a symbol of the object."""
        symbol = self._found[number]
        if symbol.section in self.sections:
            return self.sections[symbol.section].address + symbol.value
        name = string_at(self._strings, symbol.name)
        if symbol.section or name not in self._program.addresses:
            raise _NeedsLinkerError
        return self._program.addresses[name]

    def _relocate(self) -> None:
        by_machine = {_RISCV: self._relocate_riscv, _X86_64: self._relocate_x86}
        relocate = by_machine.get(int(self._elf.header()[2]))
        if relocate is None:
            raise _NeedsLinkerError
        for table in self._all:
            if table.type == _RELA and self._all[table.info].flags & _ALLOC:
                base = self.sections[table.info].address
                relocate(base, list(self._elf.relocations(table)))

    def _relocate_riscv(self, base: int, entries: Sequence[Relocation]) -> None:
        """Fill in distances, whose low parts lead to the instructions of the high ones."""
        distances: dict[int, int] = {}
        for entry in entries:
            if entry.type in (_HIGH, _CALL, _CALL_PLT):
                place = base + entry.offset
                distance = self._distance(place, entry)
                distances[place] = distance
                self._add(place, distance + 0x800 & 0xFFFFF000)
                if entry.type != _HIGH:
                    self._add(place + 4, (distance & 0xFFF) << 20)
            elif entry.type not in (_LOW, _LOW_OF_STORE):
                raise _NeedsLinkerError
        for entry in entries:
            if entry.type in (_LOW, _LOW_OF_STORE):
                low = distances[self._address(entry.symbol)] & 0xFFF
                split = (low & 0x1F) << 7 | (low >> 5) << 25
                is_store = entry.type == _LOW_OF_STORE
                self._add(base + entry.offset, split if is_store else low << 20)

    def _relocate_x86(self, base: int, entries: Sequence[Relocation]) -> None:
        """Fill in distances of 32 bits."""
        for entry in entries:
            if entry.type not in (_DISTANCE, _DISTANCE_OF_CALL):
                raise _NeedsLinkerError
            place = base + entry.offset
            distance = self._distance(place, entry)
            struct.pack_into("<i", self.memory, place - _START, distance)

    def _distance(self, place: int, entry: Relocation) -> int:
        return self._address(entry.symbol) + entry.addend - place

    def _add(self, address: int, bits: int) -> None:
        """Put bits into an instruction, where there are none yet."""
        (word,) = struct.unpack_from("<I", self.memory, address - _START)
        struct.pack_into("<I", self.memory, address - _START, word | bits)

    def _placed_symbols(self) -> Iterator[tuple[bytes, Symbol]]:
        for symbol in self._found[1:]:
            name = string_at(self._strings, symbol.name)
            is_local = symbol.info >> 4 == _LOCAL
            if symbol.section and not is_local and name not in (*_FIXED, _FOR_CALLS):
                raise _NeedsLinkerError  # it may take the place of the program's own
            if symbol.section in self.sections:
                if name == _FOR_CALLS or (is_local and not name.startswith(b".L")):
                    address = self.sections[symbol.section].address
                    yield name, symbol._replace(value=address + symbol.value)
            elif symbol.section == _ABSOLUTE and symbol.info == _FILE:
                yield name, symbol

    def _fill_front(self) -> None:
        """Copy the vector length and the name to where the launcher looks for them."""
        found = {string_at(self._strings, symbol.name): symbol for symbol in self._found}
        for name, address in _FIXED.items():
            symbol = found.get(name)
            if symbol is None or symbol.section not in self.sections:
                raise _NeedsLinkerError
            section = self.sections[symbol.section]
            if name == b"triton_rvv_kernel":
                if section.address + symbol.value != address:
                    raise _NeedsLinkerError
            elif address + symbol.size > _START + _CODE_AT:
                raise _NeedsLinkerError
            else:
                start = section.address + symbol.value - _START
                value = self.memory[start : start + symbol.size]
                self.memory[address - _START : address - _START + symbol.size] = value
                symbol = symbol._replace(section=_ABSOLUTE)
            self.symbols.append((name, symbol._replace(value=address)))


def _written(program: Program, kernel: _Kernel) -> bytes:
    """The executable: the program's image, the kernel, then what is not loaded."""
    content = bytearray(program.image)
    content += bytes(-len(content) % _PAGE)
    start = len(content)
    content += kernel.memory
    old_names = program.elf.data(program.sections[-2])
    names, sections, numbers = Strings(old_names), [], {}
    for section in program.sections[:-3]:
        is_loaded = section.flags & _ALLOC or not section.type
        data = program.elf.data(section)
        if section.type == _ATTRIBUTES and kernel.attributes:
            data = kernel.attributes
        sections.append(section if is_loaded else _appended(content, section, data))
    for number, section in kernel.sections.items():
        numbers[number] = len(sections)
        kind = b".kernel.text" if section.flags & _EXEC else b".kernel.rodata"
        offset = start + section.address - _START
        sections.append(section._replace(name=names.place(kind), offset=offset))
    local, others, strings = _all_symbols(program, kernel, numbers)
    symbol_table, name_table, string_table = program.sections[-3:]
    symbol_table = symbol_table._replace(link=len(sections) + 2, info=len(local) // SYMBOL.size)
    sections.append(_appended(content, symbol_table, local + others))
    sections.append(_appended(content, name_table, bytes(names.content)))
    sections.append(_appended(content, string_table, strings))
    content += bytes(-len(content) % 8)
    header = program.elf.header()
    header[6], header[12], header[13] = len(content), len(sections), len(sections) - 2
    for section in sections:
        content += SECTION.pack(*section)
    HEADER.pack_into(content, 0, *header)
    attributes = next((s for s in sections if s.type == _ATTRIBUTES), None)
    size = len(kernel.memory)
    load = Segment(_LOAD, 5, start, _START, _START, size, size, _PAGE)
    for number, segment in enumerate(_segments(program, load, attributes)):
        SEGMENT.pack_into(content, int(header[5]) + number * SEGMENT.size, *segment)
    return bytes(content)


def _appended(content: bytearray, section: Section, data: bytes) -> Section:
    content += bytes(-len(content) % max(section.align, 1))
    placed = section._replace(offset=len(content), size=len(data))
    content += data
    return placed


def _all_symbols(
    program: Program, kernel: _Kernel, numbers: Mapping[int, int]
) -> tuple[bytes, bytes, bytes]:
    """The tables of local and of other symbols, and their strings.

    Args:
        program, kernel: whose symbols they are.
        numbers: of the kernel's sections, in the executable by those in the object.
    """
    strings = Strings(program.strings)
    local, others = map(bytearray, program.symbols)
    for name, symbol in kernel.symbols:
        section = numbers.get(symbol.section, symbol.section)
        table = local if symbol.info >> 4 == _LOCAL else others
        table += SYMBOL.pack(*symbol._replace(name=strings.place(name), section=section))
    return bytes(local), bytes(others), bytes(strings.content)


def _segments(program: Program, load: Segment, attributes: Section | None) -> Iterator[Segment]:
    """The program headers, in which the kernel's takes the place of one that nobody reads."""
    segments = program.elf.segments()
    last_load = max(n for n, segment in enumerate(segments) if segment.type == _LOAD)
    for number, segment in enumerate(segments):
        if segment.type == _ATTRIBUTES_SEGMENT and attributes is not None:
            size = attributes.size
            yield segment._replace(offset=attributes.offset, file_size=size, memory_size=size)
        elif segment.type != _SPARE_SEGMENT:
            yield segment
        if number == last_load:
            yield load

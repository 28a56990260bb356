"""Where instructions of a linked kernel come from: source lines, and what saves registers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from elftools.dwarf.lineprogram import LineProgram
from elftools.elf.elffile import ELFFile

from triton_rvv.codegen.vector_code import instruction_words

__all__ = ["CodeMap", "SourceLine", "read_code_map", "saving_places"]


@dataclass(frozen=True, order=True)
class SourceLine:
    """A line of a source file; the number is 0 for code that comes from no line.

    Args:
        file: its path as the compiler knew it, or the name of a function without lines.
        number: from 1.
    """

    file: str
    number: int


@dataclass(frozen=True)
class CodeMap:
    """What the addresses of an executable stand for.

    Args:
        lines: the source line of each instruction of a kernel that has one.
        functions: the first address, size in bytes and name of each function.
        saves: addresses of instructions that save registers to the stack or get them back.
    """

    lines: Mapping[int, SourceLine]
    functions: tuple[tuple[int, int, str], ...]
    saves: frozenset[int]

    def line_of(self, address: int) -> SourceLine:
        """The source line of an instruction, or the function that it belongs to."""
        found = self.lines.get(address)
        if found is not None and found.number > 0:
            return found
        for start, size, name in self.functions:
            if start <= address < start + size:
                return SourceLine(name, 0)
        return SourceLine("the C library", 0)


def read_code_map(path: Path, assembly: str) -> CodeMap:
    """Read an executable that was linked with the lines of its kernel.

    Args:
        path: the executable.
        assembly: of the kernel's object, with LLVM's comments.

    Raises:
        ValueError: if the two are not of one kernel.
    """
    with path.open("rb") as file:
        elf = ELFFile(file)
        functions = tuple(_functions(elf))
        code = {name: (start, _bytes_at(elf, start, size)) for start, size, name in functions}
        lines: dict[int, SourceLine] = {}
        if elf.has_dwarf_info():
            dwarf = elf.get_dwarf_info()
            for unit in dwarf.iter_CUs():
                program = dwarf.line_program_for_CU(unit)
                if program is not None:
                    lines |= _lines(program)
    return CodeMap(lines, functions, frozenset(_saves(assembly, code)))


def _functions(elf: ELFFile) -> Iterator[tuple[int, int, str]]:
    for symbol in elf.get_section_by_name(".symtab").iter_symbols():
        if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"]:
            yield symbol["st_value"], symbol["st_size"], symbol.name


def _bytes_at(elf: ELFFile, address: int, size: int) -> bytes:
    for segment in elf.iter_segments("PT_LOAD"):
        offset = address - segment["p_vaddr"]
        if 0 <= offset < segment["p_filesz"]:
            return bytes(segment.data()[offset : offset + size])
    return b""


def _lines(program: LineProgram) -> dict[int, SourceLine]:
    """The line of every even address: instructions begin at even ones."""
    files = _files(program)
    lines: dict[int, SourceLine] = {}
    before = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None and not before.end_sequence:
            line = SourceLine(files[before.file], before.line)
            lines |= dict.fromkeys(range(before.address, state.address, 2), line)
        before = state
    return lines


def _files(program: LineProgram) -> list[str]:
    """The path of each file by its number, as DWARF 4 has them, which LLVM writes: from 1."""
    header = program.header
    folders = ["", *(folder.decode(errors="replace") for folder in header.include_directory)]
    named = [
        (folders[file.dir_index], file.name.decode(errors="replace")) for file in header.file_entry
    ]
    return ["", *(str(Path(*place)) for place in named)]


# Of a function: not of a block of LLVM's (".LBB0_1"), nor within hand-written assembly ("1").
_LABEL = re.compile(r"^(?!\.L|\d+:)([\w$.]+):")
_REGISTER = r"\((?:[ast]\d+|ra|sp|gp|tp|zero)\)"
_ACCESS = re.compile(rf"^\s+(?!j|prefetch|#|\.)[a-z][\w.]*\s+[^#]*{_REGISTER}")
_SAVES = re.compile(r"# .*Folded (Spill|Reload)")


def saving_places(assembly: str) -> dict[str, list[bool]]:
    """For each function, whether each of its memory accesses, in order, saves registers.

    LLVM says so in its comments: "8-byte Folded Spill", "Unknown-size Folded Reload".
    """
    places: dict[str, list[bool]] = {}
    inside: list[bool] = []
    for line in assembly.splitlines():
        label = _LABEL.match(line)
        if label:
            inside = places.setdefault(label[1], [])
        elif _ACCESS.match(line):
            inside.append(bool(_SAVES.search(line)))
    return {name: found for name, found in places.items() if found}


def _saves(assembly: str, code: Mapping[str, tuple[int, bytes]]) -> Iterator[int]:
    for name, saves in saving_places(assembly).items():
        if name not in code:
            raise ValueError(f"the executable has no function {name}")
        addresses = list(_access_addresses(*code[name]))
        if len(addresses) != len(saves):
            raise ValueError(
                f"{name} has {len(addresses)} memory accesses, and its assembly {len(saves)}"
            )
        yield from (at for at, is_save in zip(addresses, saves, strict=True) if is_save)


# Major opcodes and compressed forms that access memory: The RISC-V Instruction Set Manual, volume
# I, tables "RISC-V base opcode map" and "RVC opcode map" (RV64).
_MEMORY_OPCODES = frozenset({0x03, 0x07, 0x23, 0x27, 0x2F})
_COMPRESSED_MEMORY = frozenset({1, 2, 3, 5, 6, 7})


def _access_addresses(start: int, code: bytes) -> Iterator[int]:
    for offset, word in instruction_words(code):
        if word & 3 == 3:
            is_access = word & 0x7F in _MEMORY_OPCODES
        else:
            is_access = word & 3 != 1 and word >> 13 in _COMPRESSED_MEMORY
        if is_access:
            yield start + offset

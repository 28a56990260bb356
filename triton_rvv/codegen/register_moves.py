"""Copies registers of vectors by sums with zero, where a core adds faster than it moves.

    vmv.v.v v8, v4         vadd.vi v8, v4, 0
    vmv2r.v v8, v4         the same, where vectors are known to be as long as two registers
    vmv1r.v v0, v4         vmand.mm v0, v4, v4, where v0 masks no longer vectors than there are here

An X60 takes two cycles for each register that it moves, and one for each that it adds to or whose
masks it joins. LLVM copies what one instruction overwrites and another still reads, such as the
zeros of masked loads, and masks to v0. IR cannot say by which instruction, so they are exchanged in
the object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from triton_rvv.codegen.elf_file import ElfFile
from triton_rvv.codegen.vector_code import Vector, instruction_words, vector_instruction
from triton_rvv.codegen.vector_lengths import Length, known_lengths, may_jump

__all__ = ["added_moves", "with_added_moves"]

# A section's flag, and a symbol's type.
_CODE, _FUNCTION = 0x4, 2
# The instructions, and a mask of the bits that hold no register, nor the count of vmv<count>r.v.
_MOVE, _MOVE_BITS = 0x5E000057, 0xFFF0707F
_MOVE_GROUP, _MOVE_GROUP_BITS = 0x9E003057, 0xFE00707F
_ADD_NOTHING, _JOIN_MASKS = 0x02003057, 0x66002057
_TARGET, _SOURCE = 31 << 7, 31 << 15
_ADD_REGISTERS = 31 << 20 | _TARGET
_MOVE_LINE = re.compile(r"(?<=\t)(vmv\.v\.v|vmv[1248]r\.v)(\s+v\d+, v\d+)")
# Opcodes of instructions whose registers are not known: custom ones, and those of cryptography.
_UNREAD = (0x0B, 0x2B, 0x5B, 0x77, 0x7B)
# Comparisons, and operations on masks.
_MAKES_MASK = range(24, 32)


def with_added_moves(compiled: bytes, vector_bits: int) -> bytes:
    """An object in which sums with zero copy registers where that is faster.

    Args:
        compiled: a relocatable object for RISC-V, as LLVM writes it.
        vector_bits: of a register.
    """
    changed = bytearray(compiled)
    for at, _, new in _moves(compiled, vector_bits):
        changed[at : at + 4] = new.to_bytes(4, "little")
    return bytes(changed)


def added_moves(assembly: str, compiled: bytes, vector_bits: int) -> str:
    """LLVM's assembly of an object with the same exchanges; its moves come in the same order.

    Raises:
        RuntimeError: where they do not, so that the text would not be that of the object.
    """
    moves = list(_moves(compiled, vector_bits))
    written = [tuple(line[0].split(maxsplit=1)) for line in _MOVE_LINE.finditer(assembly)]
    if written != [_as_text(old) for _, old, _ in moves]:
        raise RuntimeError("an object has other moves of registers than its assembly")
    new_words = iter([new if new != old else None for _, old, new in moves])

    def exchanged(line: re.Match[str]) -> str:
        new = next(new_words)
        if new is None:
            return line[0]
        is_sum = new & ~_ADD_REGISTERS == _ADD_NOTHING
        return f"vadd.vi{line[2]}, 0" if is_sum else f"vmmv.m{line[2]}"

    return _MOVE_LINE.sub(exchanged, assembly)


def _as_text(move: int) -> tuple[str, str]:
    """The name and the registers of a move."""
    target, first, second = (move >> place & 31 for place in (7, 15, 20))
    if _is_move(move):
        return "vmv.v.v", f"v{target}, v{first}"
    return f"vmv{(first & 7) + 1}r.v", f"v{target}, v{second}"


def _moves(compiled: bytes, vector_bits: int) -> Iterator[tuple[int, int, int]]:
    """The place of each move in an object, the instruction, and what comes in its place."""
    file = ElfFile(compiled)
    sections = file.sections()
    symbols, _ = file.symbols(sections)
    for number, section in enumerate(sections):
        if section.flags & _CODE:
            starts = {s.value for s in symbols if s.section == number and s.info & 15 == _FUNCTION}
            words = list(instruction_words(file.data(section)))
            for address, old, new in _exchanged(words, starts, vector_bits):
                yield section.offset + address, old, new


def _exchanged(
    words: Sequence[tuple[int, int]], starts: set[int], vector_bits: int
) -> Iterator[tuple[int, int, int]]:
    if not any(_is_group_move(word) or _is_move(word) for _, word in words):
        return
    lengths = known_lengths(words, starts, vector_bits)
    for place, (address, word) in enumerate(words):
        if _is_move(word):
            yield address, word, _ADD_NOTHING | word & _TARGET | (word & _SOURCE) << 5
        elif _is_group_move(word):
            yield address, word, _of_group(words, lengths, place, vector_bits)


def _of_group(
    words: Sequence[tuple[int, int]],
    lengths: Sequence[Length | None],
    place: int,
    vector_bits: int,
) -> int:
    """What comes in the place of a move of whole registers."""
    (_, word), length = words[place], lengths[place]
    second, count = word & 31 << 20, (word >> 15 & 7) + 1
    if length is not None and length.is_whole and length.group_bits == count * vector_bits:
        return _ADD_NOTHING | word & _TARGET | second
    if count == 1 and not word & _TARGET and _is_mask(words, lengths, place):
        return _JOIN_MASKS | second | second >> 5
    return word


def _is_move(word: int) -> bool:
    return word & _MOVE_BITS == _MOVE


def _is_group_move(word: int) -> bool:
    return word & _MOVE_GROUP_BITS == _MOVE_GROUP


def _is_mask(words: Sequence[tuple[int, int]], lengths: Sequence[Length | None], move: int) -> bool:
    """Whether a register that is moved to v0 only masks vectors that are not longer than here.

    That is asked of what follows up to the next branch, before which v0 has to become another mask.
    """
    length = lengths[move]
    most = length.elements if length else None
    if most is None:
        return False
    for place in range(move + 1, len(words)):
        _, word = words[place]
        if may_jump(word) or word & 0x7F in _UNREAD:
            return False
        instruction = vector_instruction(word)
        if instruction is None:
            continue
        is_masked = not word >> 25 & 1
        if instruction.read.count(0) > is_masked:
            return False
        count = length.elements if (length := lengths[place]) else None
        if is_masked and (count is None or count > most):
            return False
        if 0 in instruction.written:
            return not is_masked and _replaces_all(instruction)
    return False


def _replaces_all(instruction: Vector) -> bool:
    """Whether nothing of the register that is written stays.

    Other instructions may keep its upper elements, or, as vslideup, its lower ones. What the upper
    elements of a mask become is never said, so nothing reads them.
    """
    makes_mask = bool(instruction.kind) and instruction.funct in _MAKES_MASK
    return makes_mask or instruction.is_move or instruction.is_save

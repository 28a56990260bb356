"""Reads RISC-V machine code: its innermost loops, vector instructions, and their registers.

Encodings are those of "The RISC-V Instruction Set Manual", volume I: the vector extension, base
instructions and the compressed ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = [
    "FLOAT",
    "INTEGER",
    "MULTIPLY",
    "Other",
    "Reload",
    "SetLength",
    "Vector",
    "distance",
    "given_number",
    "instruction_words",
    "leaves_numbers",
    "set_group",
    "sets_length",
    "stretches",
    "vector_instruction",
]

# Kinds of computations, by the field funct3: what the number `funct6` stands for depends on them.
FLOAT, INTEGER, MULTIPLY = "float", "integer", "multiply"
_KINDS = (INTEGER, FLOAT, MULTIPLY, INTEGER, INTEGER, FLOAT, MULTIPLY)
_OF_VECTORS, _OF_IMMEDIATES, _CONFIGURATION = (0, 1, 2), 3, 7

_LOAD, _STORE, _COMPUTATION, _BRANCH, _JUMP = 0x07, 0x27, 0x57, 0x63, 0x6F
_VECTOR_WIDTHS = (0, 5, 6, 7)  # of a load or store; the others are of scalar floats
_STACK_POINTER = 2
_ADDITIONS = (0x33, 0x20002033, 0x20004033, 0x20006033)  # add, sh1add, sh2add, sh3add
# Operations whose field vs1 is no register but says which of several it is.
_UNARY = {(FLOAT, 16), (FLOAT, 18), (FLOAT, 19), (MULTIPLY, 16), (MULTIPLY, 18), (MULTIPLY, 20)}
_MOVE, _CARRIES = 0b010111, (16, 17, 18, 19)


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector instruction.

    Args:
        kind: of a computation `FLOAT`, `INTEGER` or `MULTIPLY`; "" for loads and stores.
        funct: number of the computation within its kind.
        of: its field funct3, which says what the operands are.
        group: registers that an operand takes, also below one.
        read, written: numbers of vector registers; of a group, the first.
        is_masked: whether lanes are left out.
        is_move: whether registers are copied whole.
        is_save: whether registers are saved on the stack, or read back.
        first: the field vs1.
    """

    kind: str
    funct: int
    of: int
    group: float
    read: tuple[int, ...]
    written: tuple[int, ...]
    is_masked: bool
    is_move: bool = False
    is_save: bool = False
    first: int = 0


class Reload:
    """An integer that was saved on the stack and is loaded from there."""


class SetLength:
    """A vector length that comes from a register, or goes into one."""


Other = Reload | SetLength | None


def stretches(code: bytes) -> Iterator[tuple[bool, list[Other | Vector]]]:
    """The instructions in order, None for those that are no vector's: loops, and what is between.

    Of a stretch, the first number says whether it is an innermost loop, which reaches from where a
    branch leads back to until that branch. Of several that overlap, the one that ends first counts.
    """
    words, at, group = list(instruction_words(code)), 0, 1.0
    for start, end in [*_innermost_loops(words), (len(words), len(words))]:
        for is_loop, to in ((False, start), (True, end)):
            if to > at:
                part, at = words[at:to], to
                yield is_loop, list(_decoded([word for _, word in part], group))
                group = _group(part, group)


def _innermost_loops(words: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The places of the first instruction of each, and of the first one behind it."""
    places = {address: place for place, (address, _) in enumerate(words)}
    last_loop = -1
    for place, (address, word) in enumerate(words):
        start = places.get(address + distance(word), -1)
        if not 0 <= start <= place:
            continue
        if start > last_loop:
            yield start, place + 1
        last_loop = max(last_loop, start)


def instruction_words(code: bytes) -> Iterator[tuple[int, int]]:
    """Addresses and instructions, of 2 or 4 bytes."""
    address = 0
    while address + 1 < len(code):
        size = 4 if code[address] & 3 == 3 else 2
        yield address, int.from_bytes(code[address : address + size], "little")
        address += size


def distance(word: int) -> int:
    """How far a branch or a jump that keeps no address leads; 1 for any other instruction."""
    if word & 3 != 3:
        return _compressed_distance(word)
    opcode = word & 0x7F
    if opcode == _BRANCH:
        low = _bits(word, 8, 4) << 1 | _bits(word, 25, 6) << 5
        return _signed(low | _bits(word, 7, 1) << 11 | _bits(word, 31, 1) << 12, 13)
    if opcode == _JUMP and not _bits(word, 7, 5):
        low = _bits(word, 21, 10) << 1 | _bits(word, 20, 1) << 11
        return _signed(low | _bits(word, 12, 8) << 12 | _bits(word, 31, 1) << 20, 21)
    return 1


def _compressed_distance(word: int) -> int:
    operation = _bits(word, 13, 3)
    if word & 3 != 1 or operation < 5:
        return 1
    if operation > 5:  # c.beqz, c.bnez
        low = _bits(word, 3, 2) << 1 | _bits(word, 10, 2) << 3 | _bits(word, 2, 1) << 5
        return _signed(low | _bits(word, 5, 2) << 6 | _bits(word, 12, 1) << 8, 9)
    low = _bits(word, 3, 3) << 1 | _bits(word, 11, 1) << 4 | _bits(word, 2, 1) << 5
    low |= _bits(word, 7, 1) << 6 | _bits(word, 6, 1) << 7 | _bits(word, 9, 2) << 8
    return _signed(low | _bits(word, 8, 1) << 10 | _bits(word, 12, 1) << 11, 12)


def vector_instruction(word: int) -> Vector | None:
    """A vector instruction, as in code for single registers; None if it is another one."""
    (decoded,) = _decoded([word], 1.0)
    return decoded if isinstance(decoded, Vector) else None


def given_number(word: int) -> tuple[int, int | None]:
    """The register of integers that an instruction writes, 0 for none, and what constant it gets.

    Of constants, those of `li` with 12 bits count.
    """
    if word & 0x7F == _COMPUTATION:
        to_scalar = _bits(word, 12, 3) == _OF_VECTORS[2] and word >> 26 == 16
        return (_bits(word, 7, 5) if to_scalar else 0), None
    if word & 3 == 3:
        register, _ = _addition(word)
        is_constant = word & 0xFF07F == 0x13  # addi from x0
        return register, (_signed(word >> 20, 12) if is_constant else None)
    register, _ = _compressed_addition(word)
    is_constant = word & 0xE003 == 0x4001  # c.li
    return register, (
        _signed(_bits(word, 2, 5) | _bits(word, 12, 1) << 5, 6) if is_constant else None
    )


def _bits(word: int, first: int, count: int) -> int:
    return word >> first & ((1 << count) - 1)


def _signed(value: int, bits: int) -> int:
    return value - (value >> bits - 1 << bits)


def _group(words: Sequence[tuple[int, int]], group: float) -> float:
    """Registers of an operand after some instructions."""
    for _, word in reversed(words):
        if set_ := set_group(word):
            return set_
    return group


def leaves_numbers(word: int) -> bool:
    """Whether an instruction is a vector's that sets neither a length nor a register of integers.

    Loads and stores of scalar floats are among them.
    """
    opcode, of = word & 0x7F, _bits(word, 12, 3)
    if opcode != _COMPUTATION:
        return opcode in (_LOAD, _STORE)
    return of != _CONFIGURATION and not (of == _OF_VECTORS[2] and word >> 26 == 16)


def sets_length(word: int) -> bool:
    """Whether an instruction is vsetvli, vsetivli or vsetvl."""
    return word & 0x707F == _CONFIGURATION << 12 | _COMPUTATION


def set_group(word: int) -> float:
    """Registers of an operand after an instruction that sets them, 0 for any other."""
    if not sets_length(word) or word >> 30 == 2:
        return 0
    code = _bits(word, 20, 3)
    return 2.0 ** (code if code < 4 else code - 8)


def _decoded(words: Sequence[int], group: float) -> Iterator[Other | Vector]:
    on_stack = {0: False, _STACK_POINTER: True}
    for word in words:
        opcode, of = word & 0x7F, _bits(word, 12, 3)
        if opcode == _COMPUTATION and of != _CONFIGURATION:
            yield _computation(word, group)
        elif opcode in (_LOAD, _STORE) and of in _VECTOR_WIDTHS:
            yield _access(word, group, on_stack.get(_bits(word, 15, 5), False))
        else:
            yield _other(word)
            group = set_group(word) or group
            _follow_numbers(word, on_stack)


def _other(word: int) -> Other:
    """What an instruction that computes with no vector does, as far as others wait for it."""
    if _is_reload(word):
        return Reload()
    registers = _bits(word, 7, 5) or (word >> 30 != 3 and _bits(word, 15, 5))
    return SetLength() if sets_length(word) and registers else None


def _is_reload(word: int) -> bool:
    """Whether an instruction is a load of 64 bits by the stack pointer."""
    if word & 3 != 3:
        return word & 0xE003 == 0x6002  # c.ldsp
    return word & 0x707F == 0x3003 and _bits(word, 15, 5) == _STACK_POINTER


def _access(word: int, group: float, is_on_stack: bool) -> Vector:
    data, second = _bits(word, 7, 5), _bits(word, 20, 5)
    way, is_masked = _bits(word, 26, 2), not _bits(word, 25, 1)
    is_whole = way == 0 and second == 8
    is_load = word & 0x7F == _LOAD
    others = (*(() if is_load else (data,)), *((second,) if way & 1 else ()))
    if is_masked:
        others = (*others, 0)
    return Vector(
        *("", 0, _bits(word, 12, 3)),
        group=_bits(word, 29, 3) + 1 if is_whole else group,
        read=others,
        written=(data,) if is_load else (),
        is_masked=is_masked,
        # Registers are saved and read back by bytes.
        is_save=is_whole and is_on_stack and not _bits(word, 12, 3),
    )


def _computation(word: int, group: float) -> Vector:
    of, funct, is_masked = _bits(word, 12, 3), word >> 26, not _bits(word, 25, 1)
    target, first, second = _bits(word, 7, 5), _bits(word, 15, 5), _bits(word, 20, 5)
    kind = _KINDS[of]
    is_move = of == _OF_IMMEDIATES and funct == 0b100111
    is_choice = kind != MULTIPLY and funct == _MOVE
    has_first = of in _OF_VECTORS and (kind, funct) not in _UNARY
    read = (*((second,) if not is_choice or is_masked else ()), *((first,) if has_first else ()))
    if is_masked:
        read = (*read, 0)
    if _adds_in_place(kind, funct):
        read = (*read, target)
    takes_carry = kind == INTEGER and funct in _CARRIES
    to_scalar = of in _OF_VECTORS and funct == 16 and kind != INTEGER
    return Vector(
        *(kind, funct, of, first + 1 if is_move else group, read),
        written=() if to_scalar else (target,),
        is_masked=is_masked and not is_choice and not takes_carry,
        is_move=is_move,
        first=first,
    )


def _adds_in_place(kind: str, funct: int) -> bool:
    """Whether a computation is a multiplication and an addition to what its result replaces."""
    if kind == FLOAT:
        return 0b101000 <= funct < 0b110000 or funct >= 0b111011
    return kind == MULTIPLY and (funct & 0b111001 == 0b101001 or funct >= 0b111100)


def _follow_numbers(word: int, on_stack: dict[int, bool]) -> None:
    """Note which register an instruction gives a constant or an address on the stack.

    Args:
        word: the instruction.
        on_stack: the registers with constants and with constant places on the stack, and which it
            is.
    """
    target, sources = _addition(word) if word & 3 == 3 else _compressed_addition(word)
    if target in (0, _STACK_POINTER):
        return
    if sources and all(source in on_stack for source in sources):
        on_stack[target] = any(on_stack[source] for source in sources)
    else:
        on_stack.pop(target, None)


def _addition(word: int) -> tuple[int, tuple[int, ...]]:
    """The register that an instruction writes, 0 for none, and those that are added up in it.

    None are where it computes something else.
    """
    opcode, target = word & 0x7F, _bits(word, 7, 5)
    if opcode in (_BRANCH, 0x23, _STORE, _LOAD):
        return 0, ()
    if opcode == 0x37:  # lui
        return target, (0,)
    if word & 0x707F in (0x13, 0x1B):  # addi, addiw
        return target, (_bits(word, 15, 5),)
    if word & 0xFE00707F in _ADDITIONS:
        return target, (_bits(word, 15, 5), _bits(word, 20, 5))
    return target, ()


def _compressed_addition(word: int) -> tuple[int, tuple[int, ...]]:
    quadrant, operation, target = word & 3, _bits(word, 13, 3), _bits(word, 7, 5)
    if quadrant == 0:
        if operation == 0:  # c.addi4spn
            return 8 + _bits(word, 2, 3), (_STACK_POINTER,)
        return (8 + _bits(word, 2, 3) if operation in (2, 3, 4) else 0), ()  # also of Zcb
    if quadrant == 1:
        if operation < 4:  # c.addi, c.addiw, c.li, c.lui
            return target, (target if operation < 2 else 0,)
        return (8 + _bits(word, 7, 3) if operation == 4 else 0), ()
    source = _bits(word, 2, 5)
    if operation == 4 and source:  # c.mv, c.add
        return target, ((target, source) if _bits(word, 12, 1) else (source,))
    return (target if operation in (0, 2, 3) else 0), ()

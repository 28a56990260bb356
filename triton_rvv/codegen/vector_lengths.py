"""Finds, in RISC-V machine code, how long vectors are known to be at each instruction.

Lengths are followed along branches, with registers of integers that hold constants. A call forgets
all of it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from triton_rvv.codegen.vector_code import (
    distance,
    given_number,
    leaves_numbers,
    set_group,
    sets_length,
)

__all__ = ["Length", "known_lengths", "may_jump"]

_JUMP, _JUMP_TO, _ADDRESS_ABOVE = 0x6F, 0x67, 0x17  # jal, jalr, auipc
_RETURN, _SHORT_RETURN = 0x8067, 0x8082
_SHORT_JUMP, _SHORT_JUMP_TO, _SHORT_CALL_TO = 0xA001, 0x8002, 0x9002  # c.j, c.jr, c.jalr
# How far jumps lead. Those that lead further are encoded like jumps to other functions.
_REACH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Length:
    """How long vectors are.

    Args:
        group_bits: of the registers that an operand takes.
        element_bits: of an element.
        elements: that count; None if they are not known.
    """

    group_bits: int
    element_bits: int
    elements: int | None

    @property
    def is_whole(self) -> bool:
        """Whether all elements of a group count."""
        return self.elements is not None and self.elements * self.element_bits == self.group_bits


@dataclass(frozen=True, slots=True)
class _State:
    """What is known between two instructions, with the constants that registers hold.

    Of registers, those count that a length is taken from anywhere.
    """

    length: Length | None = None
    numbers: Mapping[int, int] = field(default_factory=dict)


_NOTHING = _State()


def known_lengths(
    words: Sequence[tuple[int, int]], starts: Iterable[int], vector_bits: int
) -> list[Length | None]:
    """The length in front of each instruction, None where nothing is known.

    Args:
        words: addresses and instructions.
        starts: the addresses of functions.
        vector_bits: of a register.
    """
    if words and words[-1][0] >= _REACH_BYTES:
        return [None] * len(words)
    follow = _Following(words, vector_bits)
    try:
        for start in starts:
            follow.from_(start)
    except _Unknown:
        return [None] * len(words)
    return [state.length if state else None for state in follow.before]


class _Unknown(Exception):
    """Code jumps to a computed address."""


class _Following:
    """Follows code from the starts of functions.

    Attributes:
        before: what is known in front of each instruction, None for what has not been reached.
    """

    def __init__(self, words: Sequence[tuple[int, int]], vector_bits: int) -> None:
        self.before: list[_State | None] = [None] * len(words)
        self._words, self._vector_bits = words, vector_bits
        self._asked = {asked for _, word in words if (asked := _asked(word))}
        self._places = {address: place for place, (address, _) in enumerate(words)}
        self._waiting = list[int]()

    def from_(self, address: int) -> None:
        """Follow the code that begins at an address, with nothing known.

        Raises:
            _Unknown: where the code cannot be followed.
        """
        self._jump(address, _NOTHING)
        while self._waiting:
            place = self._waiting.pop()
            while self._steps_on(place):
                place += 1

    def _jump(self, address: int, state: _State) -> None:
        place = self._places.get(address, -1)
        if self._reach(place, state):
            self._waiting.append(place)

    def _reach(self, place: int, state: _State) -> bool:
        """Merge what is known on one more way to a place; return whether less is known now."""
        if not 0 <= place < len(self.before):
            raise _Unknown
        old = self.before[place]
        new = state if old is None else _both(old, state)
        if new is old or new == old:
            return False
        self.before[place] = new
        return True

    def _steps_on(self, place: int) -> bool:
        """Whether something new is known behind an instruction, which is looked at next."""
        address, word = self._words[place]
        state = self.before[place]
        assert state is not None
        if leaves_numbers(word):
            return self._reach(place + 1, state)
        if (way := distance(word)) != 1:
            self._jump(address + way, state)
        if _ends(word):
            return False
        if _is_computed_jump(word):
            if place and self._words[place - 1][1] & 0x7F == _ADDRESS_ABOVE:
                return False  # to another function
            raise _Unknown
        return self._reach(place + 1, self._after(state, word))

    def _after(self, state: _State, word: int) -> _State:
        """What is known after an instruction that is not a jump."""
        if _is_call(word):
            return _NOTHING
        if sets_length(word):
            return _configured(state, word, self._vector_bits, self._asked)
        register, number = given_number(word)
        if register not in self._asked or (number is None and register not in state.numbers):
            return state
        numbers = {at: known for at, known in state.numbers.items() if at != register}
        return _State(state.length, numbers if number is None else {**numbers, register: number})


def may_jump(word: int) -> bool:
    """Whether another instruction than the next may follow."""
    return distance(word) != 1 or _ends(word) or _is_computed_jump(word) or _is_call(word)


def _both(one: _State, other: _State) -> _State:
    """What is known on both ways to a place."""
    if one is other:
        return one
    numbers = one.numbers
    if numbers != other.numbers:
        numbers = dict(numbers.items() & other.numbers.items())
    return _State(one.length if one.length == other.length else None, numbers)


def _ends(word: int) -> bool:
    """Whether an instruction is a return, or a jump whose target it says."""
    if word & 3 == 3:
        return word == _RETURN or word & 0xFFF == _JUMP
    return word == _SHORT_RETURN or word & 0xE003 == _SHORT_JUMP


def _is_computed_jump(word: int) -> bool:
    if word & 3 == 3:
        return word & 0xFFF == _JUMP_TO
    return word & 0xF07F == _SHORT_JUMP_TO and word != _SHORT_JUMP_TO


def _is_call(word: int) -> bool:
    if word & 3 == 3:
        return word & 0x7F in (_JUMP, _JUMP_TO)
    return word & 0xF07F == _SHORT_CALL_TO


def _asked(word: int) -> int:
    """The register that vsetvli takes a length from; 0 for none, and for other instructions."""
    return word >> 15 & 31 if sets_length(word) and not word >> 31 else 0


def _configured(state: _State, word: int, vector_bits: int, followed: Container[int]) -> _State:
    """Behind vsetvli, vsetivli and vsetvl.

    Args:
        state: what is known in front of it.
        word: the instruction.
        vector_bits: of a register.
        followed: the registers whose numbers count.
    """
    register, asked = word >> 7 & 31, word >> 15 & 31
    numbers = {at: known for at, known in state.numbers.items() if at != register}
    if word >> 30 == 2:  # vsetvl
        return _State(None, numbers)
    is_constant = word >> 30 == 3
    group_bits, element_bits = int(vector_bits * set_group(word)), 8 << (word >> 23 & 7)
    most = group_bits // element_bits
    if is_constant or asked:
        count = asked if is_constant else state.numbers.get(asked)
        elements = _granted(count, most)
    elif register:
        elements = most
    else:  # as many as before, which are as many of the most
        elements = state.length.elements if state.length else None
    if register in followed and elements is not None:
        numbers[register] = elements
    return _State(Length(group_bits, element_bits, elements), numbers)


def _granted(count: int | None, most: int) -> int | None:
    """How many elements are granted; None between `most` and twice as many, where cores differ.

    Counts have no sign: what a negative constant asks for is left open.
    """
    if count is None or count < 0 or most < count < 2 * most:
        return None
    return min(count, most)

"""Pieces of code that are written one after another and put side by side."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from triton_rvv.lowering.llvm.values import Val

__all__ = ["Pieces"]


@dataclass(frozen=True)
class _Shared:
    """A value, and where it is written: a piece, and the lines up to there."""

    value: Val
    piece: int
    lines: int


@dataclass
class Pieces:
    """Pieces that need nothing of one another but what they share on purpose.

    Attributes:
        lines: of each piece.
        waits: for each piece, by line, of which other pieces how many lines come before it.
    """

    lines: list[list[str]] = field(default_factory=list)
    waits: list[dict[int, list[tuple[int, int]]]] = field(default_factory=list)
    _shared: dict[object, _Shared] = field(default_factory=dict)

    def begin(self, piece: list[str]) -> Pieces:
        """Begin another piece, whose lines are going to be in the list."""
        self.lines.append(piece)
        self.waits.append({})
        return self

    def is_current(self, lines: list[str]) -> bool:
        """Whether lines that are written now are those of the last piece."""
        return self.lines[-1] is lines

    def shared(self, key: object, write: Callable[[], Val]) -> Val:
        """A value that several pieces need, which the first that asks for it writes."""
        own = len(self.lines) - 1
        found = self._shared.get(key)
        if found is None:
            value = write()
            self._shared[key] = _Shared(value, own, len(self.lines[own]))
            return value
        if found.piece != own:
            waits = self.waits[own].setdefault(len(self.lines[own]), [])
            waits.append((found.piece, found.lines))
        return found.value

    def in_turn(self) -> list[str]:
        """A line of each piece in turn; a piece whose next line needs another's value waits.

        So does a store for that of the piece before.
        """
        self._keep_stores_in_order()
        if not any(self.waits):
            turns = itertools.zip_longest(*self.lines)
            return [line for turn in turns for line in turn if line is not None]
        done, together = [0] * len(self.lines), list[str]()
        total = sum(map(len, self.lines))
        while len(together) < total:
            for piece, lines in enumerate(self.lines):
                at = done[piece]
                needed = self.waits[piece].get(at, ())
                if at < len(lines) and all(done[other] >= count for other, count in needed):
                    together.append(lines[at])
                    done[piece] += 1
        return together

    def _keep_stores_in_order(self) -> None:
        """LLVM 22.1 joins stores that fill an array where that of its last part is, though others
        may follow (LLVM's pull request 189680).
        """
        stores = [_stores_to_arrays(lines) for lines in self.lines]
        are_in_order = all(list(each) == sorted(each) for each in zip(*stores, strict=False))
        if are_in_order and not any(self.waits):
            return
        for piece, (before, own) in enumerate(itertools.pairwise(stores), 1):
            for first, following in zip(before, own, strict=False):
                self.waits[piece].setdefault(following, []).append((piece - 1, first + 1))


def _stores_to_arrays(lines: Sequence[str]) -> list[int]:
    """Which lines store to known places of stack arrays, all of which are named alike."""
    inside = {
        line.split()[0]
        for line in lines
        if " = getelementptr" in line and ", ptr %a" in line and line.split()[-1].isdigit()
    }
    pointers = [line.partition(", ptr ")[2].split(",")[0] for line in lines]
    return [
        number
        for number, (line, pointer) in enumerate(zip(lines, pointers, strict=True))
        if line.startswith("  store ") and (pointer.startswith("%a") or pointer in inside)
    ]

"""The rules by which code is written: the second part of the compiler's table of contents.

A pass (`lowering/ttir/passes.py`) changes the IR. A rule is asked while code is written for an
operation, and finds a better way to write it where there is one. Code is right without any of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from triton_rvv.frontend.ttir import Operation

__all__ = ["CODE", "RULES", "Choices", "HasChoices", "Rule", "no", "nothing", "rule"]

F = TypeVar("F", bound=Callable[..., Any])

# The attribute of operations that says how code was written for them, for people.
CODE = "triton_rvv.code"


@dataclass(frozen=True)
class Rule:
    """A way to write code that holds for some operations.

    Args:
        name: what people call it by.
        says: what it does, in one sentence.
    """

    name: str
    says: str


RULES: Sequence[Rule] = (
    Rule(
        "follow-quotients",
        "Finds where quotients and remainders of a line make contiguous addresses.",
    ),
    Rule(
        "follow-periods", "Finds the same of a small power of two, within and across its periods."
    ),
    Rule("list-rows", "Lists what a number of each row adds to addresses, such as a page's."),
    Rule("list-lines", "Lists a line of integers that no rule explains, for a product's operand."),
    Rule("walk-segments", "Walks over the parts of a line in which addresses rise evenly."),
    Rule("join-lists", "Makes one list for each dimension of a product's operand."),
    Rule("copy-listed-runs", "Copies listed columns in runs where they follow one another."),
    Rule("count-lanes", "Masks lanes by the numbers of the first and last, not by positions."),
    Rule("decide-runs", "Leaves out masks of vectors that sizes and grid put inside or outside."),
    Rule("compare-jointly", "Asks of a comparison's last element whether all elements are below."),
    Rule("split-at-edges", "Leaves out the masks of vectors inside an image."),
    Rule("end-plain-columns", "Goes without masks up to the last whole vectors of a row."),
    Rule("end-rows", "Reduces rows up to the end of a mask, and not up to that of the block."),
    Rule("keep-row-numbers", "Computes costly numbers of each row once, before its elements."),
    Rule("keep-joined", "Keeps what a loop reads of several arrays, computed once, in one."),
    Rule("lengthen-vectors", "Takes twice the registers for each value where few are needed."),
    Rule("lengthen-tails", "Makes one long vector of the last elements of a row."),
    Rule("span-rows", "Takes several short rows in one vector."),
    Rule("go-down-rows", "Computes what rows share once for several of them."),
    Rule("load-early", "Loads for the next turn of a loop beside the arithmetic of this one."),
    Rule("transpose-squares", "Loads blocks that lie by column in squares, and transposes those."),
    Rule("load-periods", "Loads lines that follow one another in turn each at once."),
    Rule(
        "load-every-other", "Loads what a mask leaves of pairs as neighbours, and puts it in place."
    ),
    Rule("keep-tables", "Takes elements of a small table from registers that hold all of it."),
    Rule("load-reversed", "Turns neighbours around that a block reads from the last one on."),
    Rule("load-segments", "Loads every so many elements together with those between them."),
    Rule("prefetch-columns", "Asks for the next lines of a block that lies by column."),
    Rule("prefetch-next-program", "Asks for the next program's block where it has few lines."),
    Rule("prefetch-stream", "Asks for what a row that is read once has some lines further on."),
    Rule("prefetch-next-turn", "Asks for the row that a later turn of a loop reads."),
    Rule("convert-by-limits", "Makes integers of floats that have limits without checking them."),
    Rule("round-shifts", "Adds half of what a shift divides by in the same instruction."),
    Rule("clip-shifted", "Shifts, limits and cuts integers by one instruction."),
    Rule("convert-rounded", "Rounds floats that become integers by what converts them."),
    Rule("pack-transposed", "Packs a left operand that lies by column as it lies."),
    Rule("begin-plainly", "Loads what a product's tile begins with without masks, and ahead."),
    Rule("read-in-place", "Reads the right operand of a product of few rows without a copy."),
    Rule("find-apart", "Asks at run time whether a store changes what it reads of its array."),
    Rule("count-truths", "Counts true elements of a row without making numbers of them."),
    Rule("sum-numbers-once", "Keeps sums that are one number in all lanes as a scalar."),
    Rule("update-plainly", "Updates memory without atomic instructions where there is one thread."),
    Rule("fill-moved-lanes", "Scans lanes without a choice: nothing changes what none is before."),
)


class Choices:
    """By which rules a function is written, and where.

    Args:
        skipped: the names of rules that are not to be followed.
        is_watched: whether notes of other kinds than "rules" are read.

    Attributes:
        operation: the one that code is written for; None between operations.
    """

    def __init__(self, skipped: Collection[str] = (), is_watched: bool = False) -> None:
        self.is_watched = is_watched
        self._followed = frozenset(each.name for each in RULES) - frozenset(skipped)
        self._notes: dict[Operation, dict[str, dict[str, None]]] = {}
        self.operation: Operation | None = None

    def allow(self, name: str) -> bool:
        """Whether a rule may be followed."""
        return name in self._followed

    def follow(self, name: str) -> None:
        """Say that the operation's code is written by a rule."""
        self.note("rules", name)

    def note(self, kind: str, text: str) -> None:
        """Say how the operation's code is written: something of one kind, such as "walks"."""
        if self.operation is not None:
            kinds = self._notes.setdefault(self.operation, {})
            kinds.setdefault(kind, {})[text] = None

    def counts(self) -> Mapping[str, int]:
        """For how many operations each rule was followed, in the order of `RULES`."""
        followed = [kinds.get("rules", ()) for kinds in self._notes.values()]
        return {each.name: sum(each.name in names for names in followed) for each in RULES}

    def mark(self) -> int:
        """Give operations the attribute `CODE`; how many have one."""
        for operation, kinds in self._notes.items():
            operation.attributes[CODE] = {kind: "; ".join(kinds[kind]) for kind in sorted(kinds)}
        return len(self._notes)


class HasChoices(Protocol):
    """What a rule is asked with, such as the builder."""

    @property
    def choices(self) -> Choices:
        """By which rules code is written."""


def rule(name: str, otherwise: Callable[..., Any]) -> Callable[[F], F]:
    """Have a function, whose first argument has the choices, be the rule of that name.

    Args:
        name: one of `RULES`.
        otherwise: what is given for the same arguments where the rule is skipped; it writes
            nothing. The rule is followed where the function gives something else.
    """
    assert any(each.name == name for each in RULES)

    def of(function: F) -> F:
        @functools.wraps(function)
        def asked(*args: Any, **kwargs: Any) -> Any:
            choices = cast(HasChoices, args[0]).choices
            plain = otherwise(*args, **kwargs)
            if not choices.allow(name):
                return plain
            found = function(*args, **kwargs)
            if found != plain:
                choices.follow(name)
            return found

        return cast(F, asked)

    return of


def nothing(*_: object, **__: object) -> None:
    """None: there is no better way."""


def no(*_: object, **__: object) -> bool:
    """False: the rule does not hold."""
    return False

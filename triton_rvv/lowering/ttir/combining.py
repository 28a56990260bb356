"""What is known of operations by which reductions, scans and sums of loops combine two elements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["COMBINING", "Combining"]


@dataclass(frozen=True)
class Combining:
    """An operation that gives the same for its operands in either order.

    Args:
        neutral: changes no other number, but for the sign of 0 and NaN, which are free
            (`commutative.py`); None where that depends on the type.
        exact: the same, for every number bit for bit.
        is_idempotent: whether any number combined with itself stays itself.
        of_lanes: LLVM's reduction of a vector, where RVV has an instruction for it.
    """

    neutral: float | None = None
    exact: float | None = None
    is_idempotent: bool = False
    of_lanes: str = ""

    def keeps(self, number: float) -> bool:
        """Whether a number combined with itself stays itself."""
        return self.is_idempotent or number == self.neutral


COMBINING: Mapping[str, Combining] = {
    "arith.addf": Combining(0, -0.0, of_lanes="fadd"),
    "arith.mulf": Combining(1, 1),
    "arith.addi": Combining(0, 0, of_lanes="add"),
    "arith.muli": Combining(1, 1),
    "arith.andi": Combining(-1, -1, True, "and"),
    "arith.ori": Combining(0, 0, True, "or"),
    "arith.xori": Combining(0, 0, False, "xor"),
    "arith.minsi": Combining(None, None, True, "smin"),
    "arith.maxsi": Combining(None, None, True, "smax"),
    "arith.minui": Combining(-1, -1, True, "umin"),
    "arith.maxui": Combining(0, 0, True, "umax"),
    # These take the number where the other one is NaN, whose place infinity would take.
    "arith.minnumf": Combining(math.inf, math.nan, True, "fmin"),
    "arith.maxnumf": Combining(-math.inf, math.nan, True, "fmax"),
    "arith.minimumf": Combining(math.inf, math.inf, True),
    "arith.maximumf": Combining(-math.inf, -math.inf, True),
}

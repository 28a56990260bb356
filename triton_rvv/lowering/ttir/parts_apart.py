"""Whether parts of a kernel's blocks can be computed one after another, memory left as it is.

    for t in range(T):                      for first in range(0, 256, 64):
        x = f(x, load(z + t * N + at))          for t in range(T): ... x[first : first + 64]
        store(p + t * N + at, x)

A part's last turn comes before the first turn of the next part then. That changes nothing where
elements that have an address in common are of one part, in whichever turns: where a turn's row is
as far from the next one's as it is long, or where elements of one place alone meet.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.loop_growth import LoopGrowth
from triton_rvv.lowering.ttir.mask_conditions import MaskConditions
from triton_rvv.lowering.ttir.polynomials import Polynomial, Position
from triton_rvv.lowering.ttir.streams import mask_of

__all__ = ["DONE_AGAIN", "parts_are_apart"]

# Done again for each part rather than kept in memory for all of them.
DONE_AGAIN = (
    *("arith.", "tt.splat", "tt.make_range", "tt.expand_dims", "tt.broadcast"),
    *("tt.addptr", "tt.bitcast", "tt.load", "tt.fp_to_fp"),
)
# What else may be in a kernel whose blocks are split: nothing that happens to anybody but stores.
_DONE_ONCE = (
    *("math.", "tt.reduce", "tt.reshape", "tt.trans", "tt.precise_", "tt.clampf", "tt.mulhiui"),
    *("tt.store", "tt.get_", "tt.return", "scf.for", "scf.if", "scf.yield", "llvm.intr.assume"),
)
# From end to end of all elements whose offsets wrap to no other place.
_MOST_APART = 1 << 31


def parts_are_apart(blocks: Collection[Value], once: Block, kernel: Kernel) -> bool:
    """Whether what parts store is neither loaded nor stored by others, and nothing else happens.

    If so, code relies from then on on the kernel's arguments to be disjoint.

    Args:
        blocks: all that have the dimension that is split.
        once: what is done once in each part.
        kernel: one whose code is one block of operations.
    """
    operations = [each for each in kernel.function.walk() if each is not kernel.function]
    stores = [each for each in operations if each.name == "tt.store"]
    loads = [each for each in operations if each.name == "tt.load"]
    is_known = all(
        each.name.startswith(DONE_AGAIN + _DONE_ONCE) and not each.attributes.get("isVolatile")
        for each in operations
    )
    if not is_known or not all(each.operands[0] in blocks for each in stores):
        return False
    pairs = [
        *itertools.product(loads, stores),
        *itertools.combinations_with_replacement(stores, 2),  # of a loop, one may meet itself
    ]
    places = _Places(once, kernel)
    return kernel.may_reorder([pair for pair in pairs if not places.keep_apart(*pair)])


class _Places:
    """Where lines lie that are loaded and stored, in each turn of a loop and those beside it."""

    def __init__(self, once: Block, kernel: Kernel) -> None:
        known = kernel.integers_so_far()
        makers = {result: each for each in kernel.function.walk() for result in each.results}
        self._sums = AccessFunctions(kernel.function, known)
        self._masks = MaskConditions(makers, self._sums)
        self._known = known
        self._once = frozenset(once.operations)
        self._loops = {
            inner: each
            for each in self._once
            if each.name == "scf.for"
            for inner in each.regions[0].block.operations
        }

    def keep_apart(self, *pair: Operation) -> bool:
        """Whether only elements at one place of two lines may have an address in common.

        Sums that wrap count: they differ as these do where all are within half of 32 bits.
        """
        is_once = self._once.issuperset(pair)
        if is_once and pair[0] is pair[1]:  # elements of one store that meet have no order
            return True
        one, other = (each.operands[0] for each in pair)
        if one.type != other.type or len(one.shape) != 1:
            return False
        turns, by = (1, 0) if is_once else self._turns_of(pair)
        addresses = [self._sums.of(each) for each in (one, other)]
        steps = {each.stride(0) for each in addresses}
        (along,) = steps if len(steps) == 1 else (None,)
        step = None if along is None else self._sums.number(along)
        distance = self._sums.number(addresses[0] - addresses[1])
        if not turns or not step or distance is None:
            return False
        reach = abs(step) * (max(map(self._lanes, pair)) - 1)
        is_exact = abs(distance) + by * turns + reach < _MOST_APART
        return is_exact and _never_meet(distance, by, turns, abs(step), reach)

    def _turns_of(self, pair: Sequence[Operation]) -> tuple[int, int]:
        """How many turns two lines of one loop have, and how far both move in each; or no turns."""
        loops = {self._loops.get(each) for each in pair}
        (loop,) = loops if len(loops) == 1 else (None,)
        if loop is None:
            return 0, 0
        loop_growth = LoopGrowth(loop, self._sums, has_one_turn=False)
        moves = {loop_growth.growth(self._sums.of(each.operands[0])) for each in pair}
        (moved,) = moves if len(moves) == 1 else (None,)
        by = None if moved is None else self._sums.number(moved)
        if by is None:
            return 0, 0
        return (self._known.turns(loop) or 0, abs(by)) if by else (1, 0)

    def _lanes(self, access: Operation) -> int:
        """Behind the last lane of a line that its mask may let through, as far as that is known."""
        (size,), mask = access.operands[0].shape, mask_of(access)
        lanes = size
        for condition in () if mask is None else self._masks.of(mask):
            if isinstance(condition, tuple) and condition[1] == "slt":
                first = self._sums.number(condition[0] - Polynomial.of(Position(0)))
                end = self._sums.number(condition[2])
                # Behind these, no sum of a lane wraps to below the end.
                if first is not None and end is not None and 0 <= first <= end < _MOST_APART - size:
                    lanes = min(lanes, end - first)
        return lanes


def _never_meet(distance: int, by: int, turns: int, step: int, reach: int) -> bool:
    """Whether no turn finds elements where those of other places are, in any turn.

    Args:
        distance: between two lines in one turn, in elements.
        by: how far both move in each turn, 0 or more.
        step: between neighbours of a line, more than 0.
        reach: from the first to the last of a line.
    """
    for each in (distance, -distance):
        # The first turn from which one line is a step or more ahead of where the other one is.
        turn = max(1 - turns, -((each - step) // by)) if by else 0
        if turn < turns and step <= each + by * turn <= reach:
            return False
    return True

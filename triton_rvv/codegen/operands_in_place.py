"""Keeps LLVM from looking for operands that it might move into a long basic block.

CodeGenPrepare moves splats from other blocks to the instructions on vectors that use them. For each
such instruction it numbers all of its block first (`tryToSinkFreeOperands` in LLVM's
CodeGenPrepare.cpp), so its time grows with the square of a block's length: an eighth of a
translation on average, a third where products are unrolled, and 21 seconds for a block of 18,000
instructions. To cut blocks is no help, since it joins them. The lowering makes most splats where
they are used, and then there is nothing to move.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["with_operands_in_place"]

# Instructions of a block. Below the first number, looking is as fast as asking whether to look.
# Above the second, it takes a quarter of a second, so operands stay even if some could move.
_LONG, _TOO_LONG = 256, 2048
_FEATURES = '"target-features"="'
_STAYS = "+no-sink-splat-operands,"

_LABEL = re.compile(r"\n(?=[-\w.$]+:)")
# Comparisons move, too, and what they compare follows them.
_MOVABLE = re.compile(r"\n  (%[-\w.]+) = (?:shufflevector [^\n]* zeroinitializer|[fi]cmp [a-z ]+<)")
_NAME = re.compile(r"%[-\w.]+")


def with_operands_in_place(llir: str) -> str:
    """The text of an optimised module, told to leave operands alone if that saves time.

    Its code stays the same unless a block is very long.
    """
    functions = [_LABEL.split(text) for text in _functions(llir)]
    longest = max((block.count("\n") for blocks in functions for block in blocks), default=0)
    if longest < _LONG or (longest <= _TOO_LONG and any(map(_may_move, functions))):
        return llir
    return llir.replace(_FEATURES, _FEATURES + _STAYS)


def _functions(llir: str) -> Iterator[str]:
    return (part.partition("\n}\n")[0] for part in llir.split("\ndefine ")[1:])


def _may_move(blocks: Sequence[str]) -> bool:
    """Whether a splat or a comparison of vectors is used in another block, other than by a phi."""
    made = {name: number for number, block in enumerate(blocks) for name in _MOVABLE.findall(block)}
    return any(
        made[name] != number
        for number, block in enumerate(blocks)
        for name in made.keys() & set(_NAME.findall(_behind_phis(block)))
    )


def _behind_phis(block: str) -> str:
    return block.rpartition(" = phi ")[2].partition("\n")[2]

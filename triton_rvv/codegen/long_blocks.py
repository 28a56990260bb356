"""Finds basic blocks that are too long for LLVM's preparation of code generation.

For each operand that it tries to move, `tryToSinkFreeOperands` of LLVM's CodeGenPrepare.cpp numbers
all instructions of the block, so its time grows with the square of a block's length: 18,000
instructions, 200 rounds over bytes that are written out, took 21 seconds, and without it 0.8. What
it moves comes from other blocks, and such code has few. To cut blocks is no help, since it joins
them.
"""

from __future__ import annotations

__all__ = ["has_long_block"]

# It takes about a quarter of a second for a block of this length.
_MAX_INSTRUCTIONS = 2048


def has_long_block(llir: str) -> bool:
    """Whether the text of a module has a basic block that is longer than that."""
    instructions = 0
    for line in llir.splitlines():
        # Blocks begin with a label, or with their function.
        instructions = instructions + 1 if line.startswith("  ") else 0
        if instructions > _MAX_INSTRUCTIONS:
            return True
    return False

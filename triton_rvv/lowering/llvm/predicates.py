"""Predicates of comparisons by LLVM's names, in the order of MLIR's enumerations."""

from __future__ import annotations

from triton_rvv.frontend.ttir import Operation

__all__ = ["EXCHANGED", "PREDICATES", "predicate_of"]

# By the operation that compares.
PREDICATES = {
    "arith.cmpi": ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"),
    "arith.cmpf": (
        *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
        *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
    ),
}

# Those of integers, for the operands the other way round.
EXCHANGED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle", "eq": "eq", "ne": "ne"}
EXCHANGED |= {"ult": "ugt", "ule": "uge", "ugt": "ult", "uge": "ule"}


def predicate_of(comparison: Operation) -> str:
    """LLVM's name of what an `arith.cmpi` or `arith.cmpf` compares by."""
    return PREDICATES[comparison.name][comparison.integer("predicate")]

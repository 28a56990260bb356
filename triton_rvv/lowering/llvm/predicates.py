"""Predicates of comparisons by LLVM's names, in the order of MLIR's enumerations."""

from __future__ import annotations

__all__ = ["CMPF_PREDICATES", "CMPI_PREDICATES"]

CMPI_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
CMPF_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)

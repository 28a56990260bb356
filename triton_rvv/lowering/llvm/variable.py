"""Values that change along the control flow."""

from __future__ import annotations

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val

__all__ = ["Variable"]


class Variable:
    """A value that changes along the control flow; LLVM keeps it in a register."""

    def __init__(self, builder: Builder, value: Val) -> None:
        self._builder = builder
        self._type = value.type
        self._slot = builder.alloca(value.type, 1)
        self.write(value)

    def read(self) -> Val:
        """The value at this point of the program."""
        return self._builder.load(self._type, self._slot, 1)

    def write(self, value: Val) -> None:
        """Change the value."""
        self._builder.store(value, self._slot, 1)

"""What loops carry from turn to turn, and what adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, Type, element_type
from triton_rvv.lowering.ttir.rewriter import Rewriter

__all__ = ["Carried", "carried_by"]

# Shorter floats lose too much in longer sums.
_MIN_FLOAT_BITS = 32


@dataclass(frozen=True)
class Carried:
    """One of the values that an `scf.for` carries, by its number."""

    loop: Operation
    number: int

    @property
    def start(self) -> Value:
        """Before the loop."""
        return self.loop.operands[3 + self.number]

    @property
    def argument(self) -> Value:
        """At the beginning of a turn."""
        return self.loop.regions[0].block.arguments[1 + self.number]

    @property
    def yielded(self) -> Value:
        """At its end."""
        return self.loop.regions[0].block.operations[-1].operands[self.number]

    @property
    def result(self) -> Value:
        """Behind the loop."""
        return self.loop.results[self.number]

    def update(self, makers: Mapping[Value, Operation]) -> Operation | None:
        """What adds to it once a turn, if nothing else asks for it, and sums may be longer."""
        update, element = makers.get(self.yielded), element_type(self.argument.type)
        if not isinstance(element, ScalarType) or update is None:
            return None
        is_short = element.is_float and element.bits < _MIN_FLOAT_BITS
        is_in_turn = update in self.loop.regions[0].block.operations
        is_only_use = self.argument.uses == 1 == self.yielded.uses
        asks = is_in_turn and is_only_use and self.argument in update.operands
        return update if asks and not is_short else None

    def added(self, update: Operation) -> Value:
        """What is added to it."""
        (value,) = (each for each in update.operands if each is not self.argument)
        return value

    def start_with(self, start: Value, rewriter: Rewriter) -> None:
        """Have the loop start with another value."""
        rewriter.set_operand(self.loop, 3 + self.number, start)

    def set_type(self, type_: Type, update: Operation) -> None:
        """Have turns carry another type, to which `update` adds."""
        for value in (self.argument, update.result):
            value.type = type_


def carried_by(loop: Operation) -> list[Carried]:
    """All that a loop carries."""
    return [Carried(loop, number) for number in range(len(loop.results))]

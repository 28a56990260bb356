"""Where values live that change along the control flow: the slots of loops and conditionals.

A scalar lives in a stack slot, which LLVM turns into a register. Of a block of integers or
addresses only the base changes from one turn to the next in nearly every kernel, so only the base
is carried; any other block lives in an array.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.as_affine import as_affine
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context, Lowered
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.values import Val
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.products.accumulator_init import UnfilledAccumulator
from triton_rvv.lowering.products.epilogue_stores import EpilogueStore

__all__ = ["ArraySlot", "BaseSlot", "ScalarSlot", "Slot", "UnfilledSlot", "loop_slot"]


class Slot(ABC):
    """Where a value lives that changes along the control flow."""

    @abstractmethod
    def read(self, context: Context) -> Lowered:
        """The value at this point of the program."""

    def stage(self, context: Context, value: Lowered, changing: frozenset[str]) -> Lowered:
        """The next value, made safe from a change of the arrays named in `changing`."""
        return value

    @abstractmethod
    def commit(self, context: Context, value: Lowered) -> None:
        """Make a staged value the current one."""

    @property
    def arrays(self) -> frozenset[str]:
        """The names of the arrays that a change of this slot writes to."""
        return frozenset()


class ScalarSlot(Slot):
    """A number or an address."""

    def __init__(self, context: Context, type_: str) -> None:
        self._type = type_
        self._pointer = context.builder.alloca(type_, 1)

    def read(self, context: Context) -> Val:
        return context.builder.load(self._type, self._pointer, 8)

    def commit(self, context: Context, value: Lowered) -> None:
        assert isinstance(value, Val)
        context.builder.store(value, self._pointer, 8)


class BaseSlot(Slot):
    """A block of integers or addresses of which only the base changes."""

    def __init__(self, context: Context, initial: Affine) -> None:
        self._initial = initial
        self._base = ScalarSlot(context, initial.base.type)

    def read(self, context: Context) -> Affine:
        initial = self._initial
        base = self._base.read(context)
        return Affine(
            initial.type, base, initial.components, initial.extra, wrapped=initial.wrapped
        )

    def stage(self, context: Context, value: Lowered, changing: frozenset[str]) -> Lowered:
        affine = value if isinstance(value, Affine) else as_affine(value)
        assert affine is not None
        assert _all_but_base(affine) == _all_but_base(self._initial)
        return affine.base

    def commit(self, context: Context, value: Lowered) -> None:
        self._base.commit(context, value)


def _all_but_base(block: Affine) -> tuple[object, ...]:
    """All but the base, of which nothing may change in a loop that carries only the base."""
    return block.components, block.extra, block.wrapped


class ArraySlot(Slot):
    """A block of any values, in `array`."""

    def __init__(self, context: Context, type_: TensorType) -> None:
        self.array = context.buffer(type_)

    def read(self, context: Context) -> Tensor:
        return self.array.alias()

    def stage(self, context: Context, value: Lowered, changing: frozenset[str]) -> Lowered:
        assert isinstance(value, Tensor)
        materialise.prepare(context, [value])
        if isinstance(value, Buffer) and value.buffers() == self.arrays:
            return value
        if not value.buffers() & changing:
            return value
        # Another slot's array is no safe place either: a, b = b, a needs both in full.
        staged = context.buffer(value.type)
        materialise.copy(context, value, staged)
        return staged

    def commit(self, context: Context, value: Lowered) -> None:
        assert isinstance(value, Tensor)
        if not (isinstance(value, Buffer) and value.buffers() == self.arrays):
            materialise.copy(context, value, self.array)

    @property
    def arrays(self) -> frozenset[str]:
        return self.array.buffers()


class UnfilledSlot(ArraySlot):
    """A block of which the loop's first turn knows every element, and writes the array.

    Attributes:
        store: what is done with the block behind the loop, where the last turn can do it.
        is_first: whether a turn is the first one, as i1; None outside the loop.
    """

    def __init__(self, context: Context, initial: Splat) -> None:
        super().__init__(context, initial.type)
        self._initial = initial
        self.store: EpilogueStore | None = None
        self.is_first: Val | None = None

    def fill(self, context: Context) -> None:
        """Write the array, where there is no first turn."""
        materialise.copy(context, self._initial, self.array)

    def read(self, context: Context) -> Tensor:
        if self.is_first is None:
            return super().read(context)
        return UnfilledAccumulator(self.array, self.is_first, self._initial, self.store)


def loop_slot(context: Context, initial: Lowered, by_base: bool) -> Slot:
    """The kind of slot that suits a loop's initial value.

    Args:
        by_base: whether the loop changes no more than the base of a block with dimensions that add
            up.
    """
    if isinstance(initial, Val):
        return ScalarSlot(context, initial.type)
    affine = initial if isinstance(initial, Affine) else as_affine(initial)
    if affine is not None and by_base:
        return BaseSlot(context, affine)
    return ArraySlot(context, initial.type)

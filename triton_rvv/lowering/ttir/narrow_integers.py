"""Computes blocks of integers in as few bits as their elements, or those who read them, need.

    total = a.to(int32) + b.to(int32)       total = a.to(uint16) + b.to(uint16)
    store(p, (total // 2).to(uint8))        store(p, (total // 2).to(uint8))

Triton widens bytes to 32 bits as users write it, though a register holds twice as many elements of
16. How many each operation gets is in `integer_widths.py`.
"""

from __future__ import annotations

from triton_rvv.frontend.attributes import Attribute, DenseAttribute
from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, Type
from triton_rvv.lowering.llvm.predicates import PREDICATES, predicate_of
from triton_rvv.lowering.ttir.demanded_bits import WIDENED
from triton_rvv.lowering.ttir.fixed_point import ROUNDS, rounds_within
from triton_rvv.lowering.ttir.index_values import block_bits, is_one_number
from triton_rvv.lowering.ttir.integer_widths import UNSIGNED, IntegerWidths
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_integer
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["narrow_integers"]

_DROPPED = frozenset(["arith.trunci", "arith.constant", "tt.splat", *WIDENED])


def narrow_integers(kernel: Kernel) -> int:
    """Computes blocks of integers in as few bits as their elements, or their readers, need."""
    fired = 0
    for function in kernel.functions.values():
        rewriter = Rewriter(kernel.module)
        widths = IntegerWidths(function, rewriter.makers, kernel.integers_so_far())
        if widths.narrower:
            _Narrowing(function, widths, rewriter).run()
            fired += len(widths.narrower)
    return fired


class _Narrowing:
    """Rewrites a function so that each operation has the bits that were chosen for it."""

    def __init__(self, function: Operation, widths: IntegerWidths, rewriter: Rewriter) -> None:
        self._function = function
        self._widths = widths
        self._rewriter = rewriter
        blocks = blocks_inside(function)
        self._block_of = {each: block for block in blocks for each in block.operations}
        self._starts = {value: block for block in blocks for value in block.arguments}
        # The bits that a block had as it was written, and what it is in others.
        self._own = {
            result: block_bits(result) for each in self._block_of for result in each.results
        }
        self._made: dict[tuple[Value, int], Value] = {}
        self._new = set[Operation]()

    def run(self) -> None:
        """Rewrite it in place."""
        for each in [*self._function.walk()]:
            bits = self._widths.chosen.get(each)
            if each.name not in ("arith.trunci", *WIDENED) or self._is_fixed(each):
                self._rewrite(each, bits)
        self._rewriter.erase_unused(self._function, lambda each: each.name in _DROPPED)

    def _is_fixed(self, operation: Operation) -> bool:
        """Whether it is no conversion between blocks, which are made where they are asked for."""
        return block_bits(operation.result) is None

    def _rewrite(self, operation: Operation, bits: int | None) -> None:
        operands = [
            value if own is None else self._with_bits(value, bits or own)
            for value in operation.operands
            for own in [self._own_bits(value)]
        ]
        if bits is not None and bits < self._widths.own[operation]:
            self._read_as_it_is(operation)
            if block_bits(operation.result):
                operation.result.type = _with_element(operation.result.type, bits)
        if operands != operation.operands:
            self._rewriter.set_operands(operation, operands)
        self._round_only_within(operation)

    def _own_bits(self, value: Value) -> int | None:
        return self._own[value] if value in self._own else block_bits(value)

    def _read_as_it_is(self, operation: Operation) -> None:
        """Have an operation read as unsigned integers what is not below 0."""
        blocks = [
            each for each in (*operation.operands, *operation.results) if self._own_bits(each)
        ]
        if any(each not in self._widths.ranges for each in blocks):
            return  # only bits are read that either form gives
        if self._widths.common_range(blocks)[0] >= 0:
            operation.name = UNSIGNED.get(operation.name, operation.name)
            if operation.name == "arith.cmpi":
                predicate = predicate_of(operation).replace("s", "u", 1)
                operation.attributes["predicate"] = PREDICATES["arith.cmpi"].index(predicate)

    def _round_only_within(self, operation: Operation) -> None:
        """Have a shift round no more if its sum may wrap, or is widened before it is shifted."""
        makers, ranges = self._rewriter.makers, self._widths.ranges
        if ROUNDS in operation.attributes and not rounds_within(operation, makers, ranges):
            del operation.attributes[ROUNDS]

    def _with_bits(self, value: Value, bits: int) -> Value:
        """A block in some bits; not in more than it had as it was written."""
        key = value, bits
        if key not in self._made:
            self._made[key] = self._converted(value, bits)
        return self._made[key]

    def _converted(self, value: Value, bits: int) -> Value:
        maker, has = self._rewriter.makers.get(value), block_bits(value) or 0
        if maker is not None and maker.name == "arith.trunci":
            return self._with_bits(maker.operands[0], bits)
        if maker is not None and maker.name in WIDENED:
            return self._widened(value, maker, bits)
        if has == bits:
            return value
        if maker is not None and is_one_number(maker):
            return self._one_number(value, maker, bits)
        if has > bits:
            return self._make("arith.trunci", value, value, bits)
        is_signed = self._widths.ranges.get(value, (0, 0))[0] < 0
        return self._make(WIDENED[not is_signed], value, value, bits)

    def _widened(self, value: Value, maker: Operation, bits: int) -> Value:
        (narrow,) = maker.operands
        own = self._own_bits(narrow)  # None of truth values
        if own is not None and bits <= own:
            return self._with_bits(narrow, bits)
        source = narrow if own is None else self._with_bits(narrow, own)
        if source is narrow and bits == self._own_bits(value):
            return value
        return self._make(maker.name, value, source, bits)

    def _one_number(self, value: Value, maker: Operation, bits: int) -> Value:
        number = one_integer(maker)
        if number is None:
            (scalar,) = maker.operands
            cut = self._make("arith.trunci", value, scalar, bits, ScalarType(f"i{bits}"))
            return self._make("tt.splat", value, cut, bits)
        half = 1 << bits - 1
        type_ = _with_element(value.type, bits)
        elements = DenseAttribute(type_, ((number + half) % (2 * half) - half,))
        return self._make("arith.constant", value, None, bits, value=elements)

    def _make(
        self,
        name: str,
        after: Value,
        operand: Value | None,
        bits: int,
        type_: Type | None = None,
        **attributes: Attribute,
    ) -> Value:
        """The result of a new operation, which comes behind what makes a block."""
        result = self._rewriter.value(after, type_ or _with_element(after.type, bits))
        maker = self._rewriter.makers.get(after)
        line = maker.line if maker is not None else ""
        operands = [] if operand is None else [operand]
        made = self._rewriter.operation(name, operands, [result], attributes, line)
        block = self._starts[after] if maker is None else self._block_of[maker]
        # Behind what was made there before, which this may read.
        at = 0 if maker is None else block.operations.index(maker) + 1
        while at < len(block.operations) and block.operations[at] in self._new:
            at += 1
        block.operations.insert(at, made)
        self._block_of[made] = block
        self._new.add(made)
        return result


def _with_element(type_: Type, bits: int) -> TensorType:
    assert isinstance(type_, TensorType)
    return TensorType(type_.shape, ScalarType(f"i{bits}"))

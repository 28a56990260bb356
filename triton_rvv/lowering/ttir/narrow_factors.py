"""Cuts known numbers to half their bits where blocks that are multiplied with them were widened.

    y = x.to(int32) * gain          y = x.to(int32) * gain.to(int16).to(int32)

One instruction widens both factors and multiplies them then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType
from triton_rvv.lowering.ttir.block_ranges import Range, bits_of, ranges_of_blocks
from triton_rvv.lowering.ttir.demanded_bits import WIDENED
from triton_rvv.lowering.ttir.index_values import block_bits, index_values
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import Rewriter, Written, placed

__all__ = ["narrow_factors"]


def narrow_factors(kernel: Kernel) -> int:
    """Cuts known numbers to half their bits in products with blocks that were widened."""
    fired, rewriter = 0, Rewriter(kernel.module)
    for function in kernel.functions.values():
        products = [each for each in placed(function, "arith.muli") if block_bits(each[1].result)]
        found = [(*each, _Factor.of(each[1], rewriter.makers)) for each in products]
        if all(factor is None for *_, factor in found):
            continue
        ranges = ranges_of_blocks(function, kernel.integers_so_far())
        indices = index_values([*function.walk()], rewriter.makers)
        for block, product, factor in found:
            if factor is not None and product.result not in indices and factor.fits(ranges):
                block.put_before(product, factor.cut(product, rewriter))
                fired += 1
    return fired


@dataclass(frozen=True)
class _Factor:
    """A number that is multiplied with a widened block.

    Args:
        place: which operand of the product it is, as a block.
        number: it.
        bits: half of those of the product.
        widening: what gives the number from so many bits.
    """

    place: int
    number: Value
    bits: int
    widening: str

    @staticmethod
    def of(product: Operation, makers: Mapping[Value, Operation]) -> _Factor | None:
        bits = (block_bits(product.result) or 0) // 2
        for place in (0, 1):
            splat, other = (makers.get(product.operands[each]) for each in (place, 1 - place))
            if splat is None or splat.name != "tt.splat" or other is None:
                continue
            before = block_bits(other.operands[0]) if other.name in WIDENED else None
            if before is not None and before <= bits:
                # With bits to spare, what was widened without a sign is no less than 0 with one.
                widening = WIDENED[0] if before < bits else other.name
                return _Factor(place, splat.operands[0], bits, widening)
        return None

    def fits(self, ranges: Mapping[Value, Range]) -> bool:
        """Whether the number is the same with half of the bits."""
        if self.number not in ranges:
            return False
        low, high = ranges[self.number]
        if self.widening == "arith.extui":
            return low >= 0 and bits_of((low, high)) <= self.bits
        return bits_of((min(low, -1), high)) <= self.bits

    def cut(self, product: Operation, rewriter: Rewriter) -> Sequence[Operation]:
        """Has the product take the number from half of the bits; what comes before it."""
        made = Written(rewriter, self.number, product.line)
        cut = made.write("arith.trunci", ScalarType(f"i{self.bits}"), self.number)
        whole = made.write(self.widening, self.number.type, cut)
        spread = made.write("tt.splat", product.operands[self.place].type, whole)
        rewriter.set_operand(product, self.place, spread)
        return made.operations

"""Writes shifts of vectors as products with powers of two, where a core multiplies faster.

    x >> 4                       the upper half of x * 16, for bytes
    x << 4                       x * 16
    x & 15 beside x >> 4         x - (x >> 4) * 16

An X60 takes two cycles for each register that it shifts or masks, and one for each that it
multiplies, or multiplies and subtracts. LLVM would make shifts of such products again, so they are
written as its intrinsics for RVV, when it has optimised the module. It does not look into those: of
shifts by 1 behind sums it makes averages, and signed shifts it often leaves out or narrows, so
these stay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from triton_rvv.codegen.changed_lines import with_changed_lines

__all__ = ["with_shift_products"]

# An element of LLVM's types for groups stands for 64 bits of a register; a group has 8 at most.
_UNIT_BITS, _LARGEST_GROUP = 64, 8
_ANY_TAIL = 3
# Products of 64 bits take longer than shifts.
_OPERATION = re.compile(
    r" *(?P<name>%[-\w.]+) = (?P<does>lshr|shl|and) (?:(?:exact|nuw|nsw) )*"
    r"<(?P<width>\d+) x i(?P<bits>8|16|32)> (?P<of>%[-\w.]+), "
    r"splat \(i\d+ (?P<by>\d+)\)(?P<rest>.*)"
)
_NAME = re.compile(r"%[-\w.]+")
_LABEL = re.compile(r"[-\w.]+:")
# Uses of a shift that LLVM makes one instruction with.
_JOINED = re.compile(r" = (?:trunc|ashr) (?:(?:exact|nuw|nsw) )*<\d+ x i\d+> (%[-\w.]+)(?: to|,)")
# LLVM shifts what is widened, and adds it, by one instruction.
_WIDENED = re.compile(r" *(%[-\w.]+) = [sz]ext ")
_ADDED = re.compile(r" = (?:add|sub) (?:(?:nuw|nsw) )*<\d+ x i\d+> (%[-\w.]+), (%[-\w.]+)")
_SUM = re.compile(r" *(%[-\w.]+) = add ")


@dataclass(frozen=True)
class _Operation:
    """A shift, or a mask of the lower bits.

    Args:
        line: its number in the function.
        block: the number of the basic block.
        name: of the result.
        does: "lshr", "shl" or "and".
        width, bits: elements of the vector, and bits of each.
        of: the name of what is shifted.
        by: places, or the mask.
        rest: what follows the operands.
    """

    line: int
    block: int
    name: str
    does: str
    width: int
    bits: int
    of: str
    by: int
    rest: str

    @property
    def factor(self) -> int:
        """The power of two that what is shifted is multiplied by."""
        return 1 << (self.by if self.does == "shl" else self.bits - self.by)

    @property
    def is_product(self) -> bool:
        """Whether it is a shift, whose factor is a number of the elements' type."""
        return self.does != "and" and 0 < self.by < self.bits


def with_shift_products(llir: str, vector_bits: int) -> str:
    """The text of an optimised module in which products take the place of shifts.

    Args:
        llir: the module.
        vector_bits: of a vector register.
    """
    written = _Writer(vector_bits)

    text = with_changed_lines(llir, lambda lines: _changes(lines, vector_bits, written))
    new = [line for name, line in sorted(written.declarations.items()) if f"{name}(" not in llir]
    return "\n".join((text, *new, "")) if new else text


def _changes(lines: Sequence[str], vector_bits: int, written: _Writer) -> Iterator[tuple[int, str]]:
    """Numbers of lines, and what comes in their place."""
    found = list(_operations(lines, vector_bits))
    if not found:
        return
    joined = {match[1] for line in lines if (match := _JOINED.search(line))}
    added = {name for line in lines if (match := _ADDED.search(line)) for name in match.groups()}
    sums, widened = (
        {match[1] for line in lines if (match := pattern.match(line))}
        for pattern in (_SUM, _WIDENED)
    )
    products = [
        each
        for each in found
        if each.is_product
        and each.name not in joined
        and not (each.by == 1 and each.of in sums)
        and not (each.does == "shl" and each.of in widened and each.name in added)
    ]
    yield from ((each.line, written.shifted(each)) for each in products)
    shifts = {(each.block, each.of, each.by): each for each in products if each.does == "lshr"}
    masks = [each for each in found if each.does == "and" and each.by & each.by + 1 == 0]
    pairs = [(each, shifts.get((each.block, each.of, each.by.bit_length()))) for each in masks]
    uses = _uses(lines, {each.of for each, shift in pairs if shift is not None})
    for each, shift in pairs:
        # The difference overwrites what is masked: its definition and two uses are all there are.
        if shift is not None and uses[each.of] == 3:
            yield each.line, written.masked(each, shift)


def _uses(lines: Sequence[str], names: Set[str]) -> Counter[str]:
    """In how many lines each of some names is."""
    if not names:
        return Counter()
    return Counter(name for line in lines for name in names & set(_NAME.findall(line)))


def _operations(lines: Sequence[str], vector_bits: int) -> Iterator[_Operation]:
    block = 0
    for number, line in enumerate(lines):
        if " splat (i" not in line:
            block += line[:1] not in (" ", "") and _LABEL.match(line) is not None
            continue
        if not (match := _OPERATION.fullmatch(line)):
            continue
        width, bits = int(match["width"]), int(match["bits"])
        # Shifts of less than a register take no longer than products.
        is_group = width & width - 1 == 0
        if is_group and vector_bits <= width * bits <= _LARGEST_GROUP * vector_bits:
            names = (match["name"], match["does"], width, bits, match["of"])
            yield _Operation(number, block, *names, int(match["by"]), match["rest"])


class _Writer:
    """Writes calls of LLVM's intrinsics for RVV, and their declarations."""

    def __init__(self, vector_bits: int) -> None:
        self.declarations = dict[str, str]()
        self._vector_bits = vector_bits

    def shifted(self, shift: _Operation) -> str:
        """A shift as a product."""
        name = "vmul" if shift.does == "shl" else "vmulhu"
        return "\n".join(self._product(name, shift, shift.name))

    def masked(self, mask: _Operation, shift: _Operation) -> str:
        """What is left of a number where its upper bits are taken off.

        Args:
            mask: of the lower bits.
            shift: the upper bits. It may come later, so it is written here as well; LLVM makes one
                instruction of both.
        """
        upper = _part_of(mask.name, "upper")
        group, kind = self._group(mask)
        whole, high, low = (_part_of(mask.name, part) for part in ("all", "high", "low"))
        total = f"{group} {whole}, i{mask.bits} {mask.by + 1}, {group} {high}"
        count = f"i64 {mask.width}, i64 {_ANY_TAIL}"
        types = f"{group}, i{mask.bits}, {group}, i64, i64"
        function = f"@llvm.riscv.vnmsac.{kind}.i{mask.bits}.i64"
        return "\n".join(
            (
                *self._product("vmulhu", shift, upper),
                self._whole(mask, whole, mask.of),
                self._whole(mask, high, upper),
                self._call(low, group, function, types, f"{total}, {count}", mask.rest),
                self._part(mask, mask.name, low),
            )
        )

    def _product(self, name: str, shift: _Operation, result: str) -> list[str]:
        group, kind = self._group(shift)
        whole, product = _part_of(result, "whole"), _part_of(result, "product")
        function = f"@llvm.riscv.{name}.{kind}.i{shift.bits}.i64"
        types = f"{group}, {group}, i{shift.bits}, i64"
        operands = f"{group} poison, {group} {whole}, i{shift.bits} {shift.factor}"
        return [
            self._whole(shift, whole, shift.of),
            self._call(
                product, group, function, types, f"{operands}, i64 {shift.width}", shift.rest
            ),
            self._part(shift, result, product),
        ]

    def _whole(self, of: _Operation, result: str, vector: str) -> str:
        """A vector as a group of registers."""
        (group, kind), fixed = self._group(of), f"<{of.width} x i{of.bits}>"
        function = f"@llvm.vector.insert.{kind}.v{of.width}i{of.bits}"
        operands = f"{group} poison, {fixed} {vector}, i64 0"
        return self._call(result, group, function, f"{group}, {fixed}, i64", operands, of.rest)

    def _part(self, of: _Operation, result: str, group_name: str) -> str:
        """The vector in a group of registers."""
        (group, kind), fixed = self._group(of), f"<{of.width} x i{of.bits}>"
        function = f"@llvm.vector.extract.v{of.width}i{of.bits}.{kind}"
        operands = f"{group} {group_name}, i64 0"
        return self._call(result, fixed, function, f"{group}, i64", operands, of.rest)

    def _call(
        self, result: str, type_: str, function: str, types: str, operands: str, rest: str
    ) -> str:
        self.declarations[function] = f"declare {type_} {function}({types})"
        return f"  {result} = call {type_} {function}({operands}){rest}"

    def _group(self, of: _Operation) -> tuple[str, str]:
        """The type of a group of registers, and how names of functions have it."""
        count = of.width * _UNIT_BITS // self._vector_bits
        return f"<vscale x {count} x i{of.bits}>", f"nxv{count}i{of.bits}"


def _part_of(name: str, part: str) -> str:
    """A name for a part of a value, which may have a number in place of a name."""
    return f"%{part}.of.{name[1:]}"

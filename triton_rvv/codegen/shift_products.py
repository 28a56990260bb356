"""Writes shifts of vectors as products with powers of two, where a core multiplies faster.

    x >> 4                       the upper half of x * 16, for bytes
    x << 4                       x * 16
    x & 15 beside x >> 4         x - (x >> 4) * 16
    y + (x << 4)                 y + x * 16, in one instruction
    y | x, of different bits     y + x

An X60 takes two cycles for each register that it shifts or masks, and one for each that it
multiplies, or multiplies and subtracts. LLVM would make shifts of such products again, so they are
written as its intrinsics for RVV, when it has optimised the module. It does not look into those: of
shifts by 1 behind sums it makes averages, and signed shifts it often leaves out or narrows, so
these stay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

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
_TOTAL = re.compile(
    r" *(?P<name>%[-\w.]+) = (?P<does>add|sub|or disjoint) (?:(?:nuw|nsw) )*"
    r"<(?P<width>\d+) x i(?P<bits>8|16|32)> (?P<one>%[-\w.]+), (?P<other>%[-\w.]+)(?P<rest>.*)"
)
_SIDES = ("one", "other")
_DEFINITION = re.compile(r" *(%[-\w.]+) = (\w+) ")


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
    if not found and not any(" = or disjoint <" in line for line in lines):
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
    joined_lines = dict(_totals(lines, products, vector_bits, written))
    yield from joined_lines.items()
    yield from (
        (each.line, written.shifted(each)) for each in products if each.line not in joined_lines
    )
    shifts = {(each.block, each.of, each.by): each for each in products if each.does == "lshr"}
    masks = [each for each in found if each.does == "and" and each.by & each.by + 1 == 0]
    pairs = [(each, shifts.get((each.block, each.of, each.by.bit_length()))) for each in masks]
    uses = _uses(lines, {each.of for each, shift in pairs if shift is not None})
    for each, shift in pairs:
        # The difference overwrites what is masked: its definition and two uses are all there are.
        if shift is not None and uses[each.of] == 3:
            yield each.line, written.masked(each, shift)


def _uses(lines: Sequence[str], names: Set[str]) -> Counter[str]:
    """The number of lines in which each name occurs."""
    if not names:
        return Counter()
    return Counter(name for line in lines for name in names & set(_NAME.findall(line)))


def _totals(
    lines: Sequence[str], products: Sequence[_Operation], vector_bits: int, written: _Writer
) -> Iterator[tuple[int, str]]:
    """Sums with a shift that nothing else reads, by one instruction, and ors that are sums.

    LLVM makes averages of sums that are shifted by 1, and ors of choices by masks.
    """
    shifts = {each.name: each for each in products if each.does == "shl"}
    halved = {each.of for each in products if each.does == "lshr" and each.by == 1}
    totals = [
        (number, total)
        for number, line in enumerate(lines)
        if (" = or disjoint <" in line or shifts)
        and (total := _TOTAL.fullmatch(line)) is not None
        and _is_group(total, vector_bits)
        and total["name"] not in halved
        and (total["does"] == "or disjoint" or total["other"] in shifts or total["one"] in shifts)
    ]
    if not totals:
        return
    shifted = {shift.of for shift in shifts.values()}
    uses = _uses(lines, {*shifted, *(each[side] for _, each in totals for side in _SIDES)})
    blocks = _definitions(lines)
    for number, total in totals:
        one, other = (total[side] for side in _SIDES)
        block = blocks[total["name"]][1]
        rest, shift = one, shifts.get(other)
        if shift is None and total["does"] != "sub":
            rest, shift = other, shifts.get(one)
        if shift is not None and shift.block == block and uses[shift.name] == 2 and one != other:
            # The instruction overwrites one of the two.
            if any(uses[name] == 2 and _is_own(blocks, name, block) for name in (rest, shift.of)):
                yield shift.line, ""
                yield number, written.added(total, shift, rest)
        elif total["does"] == "or disjoint" and all(
            _is_own(blocks, total[side], block) for side in _SIDES
        ):
            yield number, written.joined(total)


def _definitions(lines: Sequence[str]) -> Mapping[str, tuple[str, int]]:
    """What computes each value of a function, and in which block."""
    block, found = 0, dict[str, tuple[str, int]]()
    for line in lines:
        block += line[:1] != " " and _LABEL.match(line) is not None
        if (definition := _DEFINITION.match(line)) is not None:
            found[definition[1]] = definition[2], block
    return found


def _is_own(defined: Mapping[str, tuple[str, int]], name: str, block: int) -> bool:
    """Whether a block computes a vector, which is neither one number nor widened."""
    by, where = defined.get(name, ("", -1))
    return where == block and by not in ("shufflevector", "zext", "sext", "phi", "select")


def _operations(lines: Sequence[str], vector_bits: int) -> Iterator[_Operation]:
    block = 0
    for number, line in enumerate(lines):
        block += line[:1] != " " and _LABEL.match(line) is not None
        if " splat (i" not in line or not (match := _OPERATION.fullmatch(line)):
            continue
        width, bits = int(match["width"]), int(match["bits"])
        if _is_group(match, vector_bits):
            names = (match["name"], match["does"], width, bits, match["of"])
            yield _Operation(number, block, *names, int(match["by"]), match["rest"])


def _is_group(match: re.Match[str], vector_bits: int) -> bool:
    """Whether a vector fills registers; shifts of less take no longer than products."""
    width, bits = int(match["width"]), int(match["bits"])
    return width & width - 1 == 0 and vector_bits <= width * bits <= _LARGEST_GROUP * vector_bits


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
        return "\n".join(
            (
                *self._product("vmulhu", shift, upper),
                *self._total("vnmsac", mask, mask.of, upper, mask.by + 1),
            )
        )

    def added(self, total: re.Match[str], shift: _Operation, other: str) -> str:
        """A sum of a vector and a shift, or what is left where the shift is taken off."""
        of = replace(shift, name=total["name"], rest=total["rest"])
        name = "vnmsac" if total["does"] == "sub" else "vmacc"
        return "\n".join(self._total(name, of, other, shift.of, shift.factor))

    def joined(self, total: re.Match[str]) -> str:
        """Vectors of which at most one has each bit, as a sum."""
        names = (total["name"], "", int(total["width"]), int(total["bits"]), total["one"])
        of = _Operation(0, 0, *names, 0, total["rest"])
        return "\n".join(self._total("vmacc", of, total["other"], total["one"], 1))

    def _total(self, name: str, of: _Operation, to: str, vector: str, factor: int) -> Iterator[str]:
        """A vector to which a multiple of another one is added, or from which it is taken."""
        group, kind = self._group(of)
        whole, times, result = (_part_of(of.name, part) for part in ("all", "times", "total"))
        operands = f"{group} {whole}, i{of.bits} {factor}, {group} {times}"
        count = f"i64 {of.width}, i64 {_ANY_TAIL}"
        types = f"{group}, i{of.bits}, {group}, i64, i64"
        function = f"@llvm.riscv.{name}.{kind}.i{of.bits}.i64"
        yield self._whole(of, whole, to)
        yield self._whole(of, times, vector)
        yield self._call(result, group, function, types, f"{operands}, {count}", of.rest)
        yield self._part(of, of.name, result)

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

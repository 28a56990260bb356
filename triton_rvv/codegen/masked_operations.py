"""Has choices between a vector and what is computed take the computed one where a mask is true.

    select(a < b, x, x | 4)         select(a >= b, x | 4, x)
    x | select(a < b, 0, 4)         x | select(a >= b, 4, 0)
    x + zext(a < b)                 select(a < b, x + 1, x)

RVV computes under a mask, and leaves other lanes as they were: LLVM makes one instruction of the
second forms, and of the first ones the operation and a merge. Its optimisation turns comparisons
around until they are strict.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from triton_rvv.codegen.changed_lines import with_changed_lines

__all__ = ["with_masked_operations"]

_CHOICE = re.compile(
    r"(?P<start> *(?P<name>%[-\w.]+) = select <\d+ x i1> )(?P<mask>%[-\w.]+), "
    r"(?P<type><\d+ x \w+>) (?P<then>%[-\w.]+|zeroinitializer), "
    r"(?P=type) (?P<other>%[-\w.]+|splat \(.+?\))(?P<rest>(?:, !.*)?)"
)
_COMPARISON = re.compile(
    r"(?P<start> *(?P<name>%[-\w.]+) = (?P<kind>[if]cmp) )(?P<how>\w+)(?P<rest> <\d+ x .*)"
)
# Of comparisons whose opposite is an instruction, too.
_OPPOSITES = {
    "icmp": {
        "eq": "ne", "ne": "eq",
        "ult": "uge", "ule": "ugt", "ugt": "ule", "uge": "ult",
        "slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt",
    },
    "fcmp": {
        "oeq": "une", "une": "oeq",
        "ult": "oge", "ule": "ogt", "ugt": "ole", "uge": "olt",
    },
}  # fmt: skip
_OPERATION = re.compile(
    r" *(?P<name>%[-\w.]+) = (?:add|sub|mul|and|or|xor|shl|lshr|ashr|fadd|fsub|fmul|fdiv) .*"
)
_ADDITION = re.compile(r" *%[-\w.]+ = (?:add|or|xor|sub) ")
_TRUTHS = re.compile(r" *(?P<name>%[-\w.]+) = zext <\d+ x i1> (?P<mask>%[-\w.]+) to <.*")
_COUNT = re.compile(
    r" *(?P<name>%[-\w.]+) = add (?:(?:nuw|nsw) )*"
    r"(?P<type><(?P<width>\d+) x (?P<element>i\d+)>) (?P<one>%[-\w.]+), (?P<other>%[-\w.]+)"
)
_NAME = re.compile(r"%[-\w.]+")


def with_masked_operations(llir: str) -> str:
    """The text of an optimised module with such choices turned around."""
    return with_changed_lines(llir, _changes)


def _changes(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    choices = list(_matches(lines, " = select <", _CHOICE))
    truths = {each["name"]: each["mask"] for _, each in _matches(lines, " = zext <", _TRUTHS)}
    if choices or truths:
        uses = Counter(_NAME.findall("\n".join(lines)))
        yield from _turned_choices(lines, choices, uses)
        yield from _counts(lines, truths, uses)


def _matches(
    lines: Sequence[str], part: str, pattern: re.Pattern[str]
) -> Iterator[tuple[int, re.Match[str]]]:
    """Numbers of lines and what a pattern finds in them, which all have one part."""
    for number, line in enumerate(lines):
        if part in line and (found := pattern.fullmatch(line)) is not None:
            yield number, found


def _counts(
    lines: Sequence[str], truths: Mapping[str, str], uses: Mapping[str, int]
) -> Iterator[tuple[int, str]]:
    """Sums with truth values.

    Args:
        lines: of a function.
        truths: the mask of each integer that is 1 where it is true.
        uses: how often each name occurs.
    """
    for number, count in _matches(lines, " = add ", _COUNT) if truths else ():
        for truth, total in ((count["one"], count["other"]), (count["other"], count["one"])):
            if truth in truths and total not in truths and uses[truth] == uses[total] == 2:
                type_, more = count["type"], f"%more.{number}"
                yield (
                    number,
                    f"  {more} = add {type_} {total}, splat ({count['element']} 1)\n"
                    f"  {count['name']} = select <{count['width']} x i1> {truths[truth]}, "
                    f"{type_} {more}, {type_} {total}",
                )


def _turned_choices(
    lines: Sequence[str], choices: Sequence[tuple[int, re.Match[str]]], uses: Mapping[str, int]
) -> Iterator[tuple[int, str]]:
    """Choices with their sides exchanged."""
    once = [(number, choice) for number, choice in choices if uses[choice["mask"]] == 2]
    if not once:
        return
    comparisons = {
        found["name"]: (number, found)
        for number, found in _matches(lines, "cmp ", _COMPARISON)
        if found["how"] in _OPPOSITES[found["kind"]]
    }
    computed = {found["name"] for line in lines if (found := _OPERATION.fullmatch(line))}
    added = {name for line in lines if _ADDITION.match(line) for name in _NAME.findall(line)[1:]}
    for number, choice in once:
        if choice["mask"] not in comparisons:
            continue
        # A name stands where it is made, and where it is used. What is kept may be an operand.
        then, other = choice["then"], choice["other"]
        if then == "zeroinitializer":
            is_one = uses[choice["name"]] == 2 and choice["name"] in added
        else:
            is_one = other in computed and uses[other] == 2 and uses[then] == 3
        if is_one:
            place, comparison = comparisons[choice["mask"]]
            opposite = _OPPOSITES[comparison["kind"]][comparison["how"]]
            yield place, f"{comparison['start']}{opposite}{comparison['rest']}"
            sides = f"{choice['type']} {other}, {choice['type']} {then}"
            yield number, f"{choice['start']}{choice['mask']}, {sides}{choice['rest']}"

"""Loops carry blocks of integers in as few bits as all of their turns need."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from integer_blocks import stored
from ir_text import function

from triton_rvv.frontend.ttir import Operation, parse_module
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.narrow_carried import narrow_carried
from triton_rvv.lowering.ttir.narrow_integers import narrow_integers
from triton_rvv.targets.target import RVVTarget

_WIDE, _TRUTHS = "tensor<64xi32>", "tensor<64xi1>"
_WIDENED = f"(tensor<64xi8>) -> {_WIDE}"
_BOTH = f"({_WIDE}, {_WIDE}) -> {_WIDE}"
_ARGUMENTS = "%a: tensor<64xi8>, %b: tensor<64xi8>, %w: tensor<64xi32>, %p: tensor<64x!tt.ptr<i32>>"
_STARTS = (0, 0, 0, 5, 255, -3)
_TURNS = (0, 1, 3, 5, 33)


class _Writer:
    """Writes loops whose turns change two blocks by drawn operations."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count, self._cuts = 0, seed % 2

    def text(self) -> str:
        lines = [
            '%zero = "arith.constant"() {value = 0 : i32} : () -> i32',
            '%one = "arith.constant"() {value = 1 : i32} : () -> i32',
            f'%x = "arith.{self._random.choice(["extui", "extsi"])}"(%a) : {_WIDENED}',
            f'%y = "arith.extui"(%b) : {_WIDENED}',
        ]
        for name in ("s", "t", "c"):
            number = self._random.choice(_STARTS)
            constant = f"{{value = dense<{number}> : {_WIDE}}} : () -> {_WIDE}"
            lines.append(f'%{name} = "arith.constant"() {constant}')
        for name, numbers in (("h", range(1, 4)), ("low", (255, 4095))):
            constant = f"{{value = dense<{self._random.choice(numbers)}> : {_WIDE}}}"
            lines.append(f'%{name} = "arith.constant"() {constant} : () -> {_WIDE}')
        written, results = self._loop(["%s", "%t"], 2)
        if self._cuts:
            written += [
                f'%cut{place} = "arith.andi"({each}, %low) : {_BOTH}'
                for place, each in enumerate(results)
            ]
            results = [f"%cut{place}" for place in range(len(results))]
        return function("\n".join([*lines, *written, *map(_store, results)]), _ARGUMENTS)

    def _loop(self, starts: list[str], depth: int) -> tuple[list[str], list[str]]:
        name, turns = self._name(), self._random.choice(_TURNS if depth == 2 else _TURNS[:3])
        blocks = [f"{name}a", f"{name}b"]
        lines = [f'{name}n = "arith.constant"() {{value = {turns} : i32}} : () -> i32']
        lines.append(f'{name}:2 = "scf.for"(%zero, {name}n, %one, {", ".join(starts)}) ({{')
        lines.append(f"^bb0({name}i: i32, {blocks[0]}: {_WIDE}, {blocks[1]}: {_WIDE}):")
        for _ in range(self._random.randrange(1, 6)):
            if depth > 1 and self._random.random() < 0.15:
                written, results = self._loop(self._random.sample(blocks, 2), depth - 1)
                lines += written
                blocks += results
            else:
                lines += self._operation(blocks)
        yields = ", ".join(self._random.choices(blocks[-3:], k=2))
        lines.append(f'"scf.yield"({yields}) : ({_WIDE}, {_WIDE}) -> ()')
        lines.append(f"}}) : (i32, i32, i32, {_WIDE}, {_WIDE}) -> ({_WIDE}, {_WIDE})")
        return lines, [f"{name}#0", f"{name}#1"]

    def _operation(self, blocks: list[str]) -> Iterator[str]:
        choose, name = self._random.choice, self._name()
        changed, other = choose(blocks[-3:]), choose(["%x", "%y", "%c", "%y", choose(blocks)])
        sides = self._random.sample([changed, other], 2)
        kind = choose(
            ["addi", "addi", "subi", "maxsi", "minsi", "maxui", "minui", "andi", "select"]
            + ["xori", "muli"] * self._cuts
            + ["shli", "shrsi", "shrui"] * self._cuts
        )
        if kind.startswith("sh"):
            yield f'{name} = "arith.{kind}"({changed}, %h) : {_BOTH}'
        elif kind == "select":
            types = f"({_WIDE}, {_WIDE}) -> {_TRUTHS}"
            yield f'{name}m = "arith.cmpi"(%x, {changed}) {{predicate = 2}} : {types}'
            types = f"({_TRUTHS}, {_WIDE}, {_WIDE}) -> {_WIDE}"
            yield f'{name} = "arith.select"({name}m, {sides[0]}, {sides[1]}) : {types}'
        else:
            yield f'{name} = "arith.{kind}"({sides[0]}, {sides[1]}) : {_BOTH}'
        blocks.append(name)

    def _name(self) -> str:
        self._count += 1
        return f"%v{self._count}"


def _store(name: str) -> str:
    return f'"tt.store"(%p, {name}) : (tensor<64x!tt.ptr<i32>>, {_WIDE}) -> ()'


def _narrowed(text: str, seed: int = 0) -> int:
    """How many blocks of a kernel became narrower, which stores the same then."""
    module = parse_module(text)
    kernel, generator = Kernel(module, RVVTarget(), True), np.random.default_rng(seed)
    bytes_ = [generator.choice([-128, -1, 0, 1, 7, 127], 64) for _ in range(2)]
    inputs = [*bytes_, generator.integers(-(2**31), 2**31, 64), np.zeros(1, np.int64)]
    expected = stored(kernel.function, inputs)
    fired = narrow_carried(kernel)
    for _ in range(2):
        verify(module)
        for one, other in zip(expected, stored(kernel.function, inputs), strict=True):
            np.testing.assert_array_equal(one, other, f"seed {seed}:\n{text}")
        narrow_integers(kernel)
    return fired


def test_random_loops_give_the_same_in_fewer_bits():
    assert sum(_narrowed(_Writer(seed).text(), seed) for seed in range(20)) > 7


def _loop(*updates: str, turns: str = "%n", start: str = "%zeros") -> str:
    """A loop whose updates change %c, in order."""
    lines, last = [], "%c"
    for number, update in enumerate(updates):
        name, operand = update.split()
        lines.append(f'%c{number} = "arith.{name}"({last}, {operand}) : {_BOTH}')
        last = f"%c{number}"
    numbers = {"zeros": 0, "five": 5, "minus": -3, "k": 250, "far": 300}
    constant = f"{{value = dense<NUMBER> : {_WIDE}}} : () -> {_WIDE}"
    constants = [
        f'%{name} = "arith.constant"() {constant.replace("NUMBER", str(number))}'
        for name, number in numbers.items()
    ]
    body = f"""
%zero = "arith.constant"() {{value = 0 : i32}} : () -> i32
%one = "arith.constant"() {{value = 1 : i32}} : () -> i32
%n = "arith.constant"() {{value = 257 : i32}} : () -> i32
%unknown = "arith.addi"(%n, %any) : (i32, i32) -> i32
%x = "arith.extui"(%a) : {_WIDENED}
%r = "scf.for"(%zero, {turns}, %one, {start}) ({{
^bb0(%i: i32, %c: {_WIDE}):
  {_store("%c")}
  {"  ".join(lines)}
  "scf.yield"({last}) : ({_WIDE}) -> ()
}}) : (i32, i32, i32, {_WIDE}) -> {_WIDE}
{_store("%r")}
"""
    return function("\n".join([*constants, body]), f"{_ARGUMENTS}, %any: i32")


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        (_loop("addi %x"), "i16"),  # 257 * 255 is 65,535
        (_loop("addi %x").replace("257", "258"), "i32"),
        (_loop("addi %x", turns="%unknown"), "i32"),
        (_loop("maxsi %x", turns="%unknown"), "i8"),
        (_loop("maxsi %x", start="%w"), "i32"),
        (_loop("subi %x").replace("257", "128"), "i16"),
        (_loop("subi %x").replace("257", "129"), "i32"),
        (_loop("muli %x"), "i32"),
        # What a turn begins with counts, too: -3; and 255 for the second turn.
        (_loop("addi %five", start="%minus").replace("257", "1"), "i8"),
        (_loop("addi %k", start="%minus").replace("257", "1"), "i16"),
        (_loop("maxsi %k", "addi %five").replace("257", "2"), "i16"),
    ],
)
def test_how_many_bits_a_loop_carries(text: str, carried: str) -> None:
    kernel = Kernel(parse_module(text), RVVTarget(), True)
    assert narrow_carried(kernel) == (carried != "i32")
    (loop,) = (each for each in kernel.module.walk() if each.name == "scf.for")
    assert isinstance(loop, Operation)
    assert str(loop.result.type) == f"tensor<64x{carried}>"
    if "%unknown, %one, %" not in text:
        _narrowed(
            text.replace(", %any: i32", "").replace(
                '"arith.addi"(%n, %any)', '"arith.addi"(%n, %n)'
            )
        )


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        (_loop("muli %x"), "i8"),
        (_loop("addi %w", "xori %far"), "i8"),
        (_loop("shli %five", "ori %w"), "i8"),
        (_loop("shrui %five"), "i32"),  # each turn reads five bits more
        (_loop("minsi %w"), "i32"),
        (_loop("addi %w").replace("250", "260"), "i16"),
    ],
)
def test_how_many_bits_of_what_a_loop_carries_are_read(text: str, carried: str) -> None:
    low = f'%low = "arith.andi"(%r, %k) : {_BOTH}\n'
    text = text.replace(_store("%c"), "").replace(_store("%r"), low + _store("%low"))
    text = text.replace(", %any: i32", "").replace("(%n, %any)", "(%n, %n)")
    kernel = Kernel(parse_module(text), RVVTarget(), True)
    assert narrow_carried(kernel) == (carried != "i32")
    (loop,) = (each for each in kernel.module.walk() if each.name == "scf.for")
    assert str(loop.result.type) == f"tensor<64x{carried}>"
    _narrowed(text)


def test_blocks_that_loops_inside_carry_count_too() -> None:
    """300 in the middle of a turn; 0 at its end."""
    inner = f"""%c0 = "arith.addi"(%c, %far) : {_BOTH}
%d = "scf.for"(%zero, %n, %one, %c0) ({{
^bb0(%j: i32, %e: {_WIDE}):
  {_store("%e")}
  %f = "arith.addi"(%e, %zeros) : {_BOTH}
  "scf.yield"(%f) : ({_WIDE}) -> ()
}}) : (i32, i32, i32, {_WIDE}) -> {_WIDE}
%c1 = "arith.subi"(%d, %far) : {_BOTH}
"""
    text = _loop("addi %far", "subi %far").replace("257", "2")
    start, end = text.index("%c0 = "), text.index('"scf.yield"')
    text = text[:start] + inner + text[end:]
    assert _narrowed(text.replace(", %any: i32", "").replace("(%n, %any)", "(%n, %n)")) == 1


def test_loops_in_one_of_which_nothing_is_known_keep_their_bits() -> None:
    """The next turn of the outermost begins with a byte, but each of the middle one with more."""
    inner = f"""%d = "scf.for"(%zero, %n, %one, %c) ({{
^bb0(%j: i32, %e: {_WIDE}):
  %f = "scf.for"(%zero, %n, %one, %e) ({{
  ^bb0(%l: i32, %h: {_WIDE}):
    %q = "arith.addi"(%h, %x) : {_BOTH}
    "scf.yield"(%q) : ({_WIDE}) -> ()
  }}) : (i32, i32, i32, {_WIDE}) -> {_WIDE}
  %g = "arith.muli"(%f, %far) : {_BOTH}
  "scf.yield"(%g) : ({_WIDE}) -> ()
}}) : (i32, i32, i32, {_WIDE}) -> {_WIDE}
{_store("%d")}
"scf.yield"(%x)"""
    text = _loop("addi %x").replace("257", "2").replace('"scf.yield"(%c0)', inner)
    assert _narrowed(text.replace(", %any: i32", "").replace("(%n, %any)", "(%n, %n)")) == 1

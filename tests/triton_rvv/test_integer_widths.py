"""Random computations with blocks of integers are the same in as few bits as they get."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from integer_blocks import stored
from ir_text import function

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.lowering.ttir.block_ranges import ranges_of_blocks
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.narrow_comparisons import narrow_comparisons, narrow_thresholds
from triton_rvv.lowering.ttir.narrow_integers import narrow_integers
from triton_rvv.targets.target import RVVTarget

_ARGUMENTS = {
    **{f"%a{number}": "tensor<64xi8>" for number in range(3)},
    "%h": "tensor<64xi16>",
    "%w": "tensor<64xi32>",
    **{f"%n{number}": "i32" for number in range(2)},
}
_POINTERS = {bits: f"%p{bits}" for bits in (1, 8, 16, 32, 64)}
_SUMS = ("addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui")
_NUMBERS = (0, 1, 2, 3, 7, 15, 127, 128, 255, 256, 257, 32767, 32768, 65535, -1, -128, -32768)


class _Writer:
    """Writes operations whose operands are drawn from those before."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._blocks: dict[int, list[str]] = {1: [], 8: ["%a0", "%a1", "%a2"], 16: ["%h"], 32: []}
        self._count = 0

    def lines(self) -> Iterator[str]:
        for number in range(2):
            yield self._made("tt.splat", [(f"%n{number}", "i32")], 32)
        for _ in range(self._random.randrange(5, 30)):
            yield from self._operation()
        for _ in range(3):
            yield self._made("arith.trunci", [self._drawn(32)], self._random.choice([8, 16]))
        # Where nothing of 32 bits is stored, few of its bits are read.
        for bits in [1, 8, 16, *self._random.choice([[], [32]])]:
            for name in self._blocks[bits][-3:]:
                types = f"(tensor<64x!tt.ptr<i{bits}>>, tensor<64xi{bits}>)"
                yield f'"tt.store"({_POINTERS[bits]}, {name}) : {types} -> ()'

    def _operation(self) -> Iterator[str]:
        choose, bits = self._random.choice, self._random.choice([16, 32, 32, 32])
        kind = self._random.randrange(9)
        if kind < 2:
            source = self._random.choice([1, 8, 8, 8, 16, 32])
            name = f"arith.{choose(['extsi', 'extui'])}" if source < bits else "arith.trunci"
            target = bits if source < bits else choose([each for each in (8, 16) if each <= source])
            if self._blocks[source] and source != target:
                yield self._made(name, [self._drawn(source)], target)
        elif kind < 5:
            yield from self._with_number(bits, f"arith.{choose(_SUMS)}")
        elif kind == 5:
            name = choose(["shli", "shrsi", "shrui", "divsi", "divui", "remsi", "remui"])
            most = min(bits - 1, 9) if "sh" in name else 300
            number = self._random.randrange(0 if "sh" in name else 1, most)
            yield from self._with_number(bits, f"arith.{name}", number)
        elif kind == 6 and self._blocks[bits]:
            yield self._made("math.absi", [self._drawn(bits)], bits)
        elif kind == 7 and self._blocks[1] and self._blocks[bits]:
            sides = [self._drawn(bits), self._drawn(bits)]
            yield self._made("arith.select", [self._drawn(1), *sides], bits)
        elif self._blocks[bits]:
            properties = f" <{{predicate = {self._random.randrange(10)}}}>"
            sides = [self._drawn(bits), self._drawn(bits)]
            yield self._made("arith.cmpi", sides, 1, properties)

    def _with_number(self, bits: int, name: str, number: int | None = None) -> Iterator[str]:
        if not self._blocks[bits]:
            return
        left, right = self._drawn(bits), self._drawn(bits)
        if number is not None or self._random.random() < 0.5:
            chosen = self._random.choice(_NUMBERS) if number is None else number
            half = 1 << bits - 1
            chosen = (chosen + half) % (2 * half) - half
            value = f" <{{value = dense<{chosen}> : tensor<64xi{bits}>}}>"
            yield self._made("arith.constant", [], bits, value)
            right = (f"%v{self._count}", right[1])
            if number is None and self._random.random() < 0.3:
                left, right = right, left
        yield self._made(name, [left, right], bits)

    def _drawn(self, bits: int) -> tuple[str, str]:
        # The last ones more often, so that chains become long.
        names = self._blocks[bits]
        return self._random.choice([*names, *names[-3:]]), f"tensor<64xi{bits}>"

    def _made(self, name: str, operands, bits: int, properties: str = "") -> str:
        self._count += 1
        self._blocks[bits].append(f"%v{self._count}")
        names, types = ", ".join(each for each, _ in operands), ", ".join(t for _, t in operands)
        return f'%v{self._count} = "{name}"({names}){properties} : ({types}) -> tensor<64xi{bits}>'


def _inputs(generator: np.random.Generator) -> list[np.ndarray]:
    edges = np.array(_NUMBERS)
    found = []
    for type_ in _ARGUMENTS.values():
        bits = int(
            type_.partition("i")[2].strip(">") if type_[0] == "i" else type_.split("xi")[1][:-1]
        )
        half, size = 1 << bits - 1, 64 if type_[0] == "t" else 1
        drawn = np.where(
            generator.random(size) < 0.5,
            generator.choice(edges, size),
            generator.integers(-half, half, size),
        )
        ends = generator.choice([-half, half - 1, half - 200, 200 - half], size)
        drawn = np.where(generator.random(size) < 0.2, ends, drawn)
        found.append((drawn + half) % (2 * half) - half)
    return found + [np.zeros(1, np.int64)] * len(_POINTERS)


def _fired_with_same_results(lines: Iterable[str], seed: int) -> int:
    pointers = {name: f"tensor<64x!tt.ptr<i{bits}>>" for bits, name in _POINTERS.items()}
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in {**_ARGUMENTS, **pointers}.items())
    text = function("\n".join(lines), arguments)
    module = parse_module(text)
    kernel, inputs = Kernel(module, RVVTarget(), True), _inputs(np.random.default_rng(seed))
    expected = stored(kernel.function, inputs)
    fired = narrow_thresholds(kernel)
    fired += narrow_comparisons(kernel) + narrow_integers(kernel)
    verify(module)
    for one, other in zip(expected, stored(kernel.function, inputs), strict=True):
        assert (one == other).all(), f"seed {seed}:\n{text}"
    return fired


def test_results_are_the_same_in_fewer_bits():
    assert sum(_fired_with_same_results(_Writer(seed).lines(), seed) for seed in range(70)) > 170


_WIDE, _HALF = "tensor<64xi32>", "tensor<64xi16>"


def test_what_is_cut_to_the_bits_that_it_was_written_with():
    """A byte in 16 bits, to 32 with its sign, and back."""
    lines = [
        f'%x = "arith.extui"(%a0) : (tensor<64xi8>) -> {_HALF}',
        f'%y = "arith.extui"(%a1) : (tensor<64xi8>) -> {_HALF}',
        f'%least = "arith.minui"(%x, %y) : ({_HALF}, {_HALF}) -> {_HALF}',
        f'%wide = "arith.extsi"(%least) : ({_HALF}) -> {_WIDE}',
        f'%cut = "arith.trunci"(%wide) : ({_WIDE}) -> {_HALF}',
        f'"tt.store"(%p16, %cut) : (tensor<64x!tt.ptr<i16>>, {_HALF}) -> ()',
    ]
    _fired_with_same_results(lines, 0)


def test_masks_that_are_right_in_the_bits_that_the_other_lets_through():
    """Their difference is 255; the lower 16 bits of %sum give its lower 8."""
    both = f"({_WIDE}, {_WIDE}) -> {_WIDE}"
    lines = [
        f'%all = "arith.constant"() <{{value = dense<255> : {_WIDE}}}> : () -> {_WIDE}',
        f'%five = "arith.constant"() <{{value = dense<5> : {_WIDE}}}> : () -> {_WIDE}',
        f'%part = "arith.shrsi"(%w, %five) : {both}',
        f'%sum = "arith.addi"(%part, %all) : {both}',
        f'%full = "arith.subi"(%sum, %part) : {both}',
        f'%same = "arith.andi"(%full, %full) : {both}',
        f'%cut = "arith.trunci"(%sum) : ({_WIDE}) -> {_HALF}',
        f'"tt.store"(%p16, %cut) : (tensor<64x!tt.ptr<i16>>, {_HALF}) -> ()',
        f'"tt.store"(%p32, %same) : (tensor<64x!tt.ptr<i32>>, {_WIDE}) -> ()',
    ]
    _fired_with_same_results(lines, 0)


_ENDS = ((-5, -2), (-3, 4), (-4, 3), (0, 5), (2, 6), (-9, 1))


def _lines_of_ranges(left: tuple[int, int], right: tuple[int, int]) -> Iterator[str]:
    """Every operation on two blocks that lie between given ends."""
    both = f"({_WIDE}, {_WIDE}) -> {_WIDE}"
    for name, source, ends in (("x", "%w", left), ("y", "%v", right)):
        for end, value in zip(("low", "high"), ends, strict=True):
            constant = f"<{{value = dense<{value}> : {_WIDE}}}> : () -> {_WIDE}"
            yield f'%{name}{end} = "arith.constant"() {constant}'
        yield f'%{name}cut = "arith.minsi"({source}, %{name}high) : {both}'
        yield f'%{name} = "arith.maxsi"(%{name}cut, %{name}low) : {both}'
    names = [*_SUMS]
    names += ["divsi", "divui", "remsi", "remui"] * (right[0] > 0)
    names += ["shli", "shrsi", "shrui"] * (right[0] >= 0)
    for name in names:
        yield f'%{name} = "arith.{name}"(%x, %y) : {both}'
    yield f'%absi = "math.absi"(%x) : ({_WIDE}) -> {_WIDE}'
    for name in [*names, "absi"]:
        yield f'"tt.store"(%p, %{name}) : (tensor<64x!tt.ptr<i32>>, {_WIDE}) -> ()'


def test_no_result_is_beyond_its_range():
    arguments = f"%w: {_WIDE}, %v: {_WIDE}, %p: tensor<64x!tt.ptr<i32>>"
    w, v = (each.ravel() for each in np.mgrid[-9:10, -9:10])
    known = 0
    for left, right in itertools.product(_ENDS, _ENDS):
        module = parse_module(function("\n".join(_lines_of_ranges(left, right)), arguments))
        kernel = Kernel(module, RVVTarget(), True)
        ranges = ranges_of_blocks(kernel.function)
        stores = [each for each in kernel.function.walk() if each.name == "tt.store"]
        results = stored(kernel.function, [w, v, np.zeros(1, np.int64)])
        for store, result in zip(stores, results, strict=True):
            value = store.operands[1]
            low, high = ranges.get(value, (-1 << 31, 1 << 31))
            known += value in ranges
            is_inside = (low <= result) & (result <= high)
            assert is_inside.all(), f"{value.name} {left} {right}"
    assert known > 300


_THRESHOLDS = (("addi", "%y, %n"), ("addi", "%n, %y"), ("subi", "%y, %n"), ("subi", "%n, %y"))


def test_bytes_compare_the_same_with_sums_that_wrap():
    both, bytes_ = f"({_WIDE}, {_WIDE}) -> {_WIDE}", "tensor<64xi8>"
    lines = [f'%n = "tt.splat"(%number) : (i32) -> {_WIDE}']
    lines += [f'%{x} = "arith.extui"(%{x}8) : ({bytes_}) -> {_WIDE}' for x in "xy"]
    stores: list[str] = []
    for i, (name, operands) in enumerate(_THRESHOLDS):
        lines.append(f'%t{i} = "arith.{name}"({operands}) : {both}')
        for predicate, sides in itertools.product(range(6), (f"%x, %t{i}", f"%t{i}, %x")):
            truth = f"%m{len(stores)}"
            properties = f"{{predicate = {predicate}}} : ({_WIDE}, {_WIDE}) -> tensor<64xi1>"
            lines.append(f'{truth} = "arith.cmpi"({sides}) {properties}')
            types = "(tensor<64x!tt.ptr<i1>>, tensor<64xi1>)"
            stores.append(f'"tt.store"(%p, {truth}) : {types} -> ()')
    arguments = f"%x8: {bytes_}, %y8: {bytes_}, %number: i32, %p: tensor<64x!tt.ptr<i1>>"
    module = parse_module(function("\n".join([*lines, *stores]), arguments))
    kernel = Kernel(module, RVVTarget(), True)
    near = [*range(3), *range(253, 260), *range(508, 514)]
    numbers = [*near, *(-each for each in near)]
    numbers += [2**31 - 1 - each for each in near] + [each - 2**31 for each in near]
    ends = [0, 1, 2, 127, 128, 254, 255]
    x, y, n = (each.ravel() for each in np.meshgrid(ends, ends, numbers))
    inputs = [*((each + 128) % 256 - 128 for each in (x, y)), n, np.zeros(1, np.int64)]
    expected = stored(kernel.function, inputs)
    assert narrow_thresholds(kernel) == len(stores)
    assert narrow_integers(kernel) > len(stores)
    verify(module)
    np.testing.assert_array_equal(stored(kernel.function, inputs), expected)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("predicate = 4", "predicate = 8"),  # of unsigned numbers
        ("extui", "extsi"),  # bytes below 0
        ("xi8>", "xi16>"),  # nothing is saved
        ('"arith.extui"(%x8) : (tensor<64xi8>)', '"tt.make_range"() {end = 64, start = 0} : ()'),
        ('"tt.splat"(%number) : (i32)', f'"arith.constant"() {{value = dense<7> : {_WIDE}}} : ()'),
    ],
)
def test_thresholds_that_stay(old, new):
    lines = [
        f'%x = "arith.extui"(%x8) : (tensor<64xi8>) -> {_WIDE}',
        f'%n = "tt.splat"(%number) : (i32) -> {_WIDE}',
        f'%t = "arith.addi"(%x, %n) : ({_WIDE}, {_WIDE}) -> {_WIDE}',
        f'%m = "arith.cmpi"(%x, %t) {{predicate = 4}} : ({_WIDE}, {_WIDE}) -> tensor<64xi1>',
    ]
    text = function("\n".join(lines), "%x8: tensor<64xi8>, %number: i32")
    texts = (text, text.replace(old, new))
    kernels = [Kernel(parse_module(each), RVVTarget(), True) for each in texts]
    assert [narrow_thresholds(each) for each in kernels] == [1, 0]

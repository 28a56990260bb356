"""Integers that are widened further than their elements need."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from qemu_kernels import Expected

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.frontend.types import element_type
from triton_rvv.lowering.ttir.early_cuts import cut_early
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.late_widening import widen_late
from triton_rvv.lowering.ttir.narrow_integers import narrow_integers
from triton_rvv.targets.target import RVVTarget


def _narrowed(body: str, run: Callable[[Kernel], int] = narrow_integers) -> tuple[int, list[str]]:
    """How many places a pass changed, and each operation with its elements."""
    arguments = (
        "%a: tensor<64xi8>, %b: tensor<64xi8>, %p: tensor<64x!tt.ptr<i8>>, %w: tensor<64xi32>, "
        "%n: i32, %words: tensor<64x!tt.ptr<i32>>"
    )
    module = parse_module(function(body, arguments))
    fired = run(Kernel(module, RVVTarget(), True))
    verify(module)
    return fired, [
        f"{each.name.removeprefix('arith.')} {element_type(each.result.type)}"
        for each in module.walk()
        if each.name.startswith("arith.")
    ]


def _lines(*operations: str) -> str:
    """Operations on blocks of 64, such as `%s = addi %x, %y`; types are i32 but where given."""
    body = []
    for operation in operations:
        text, _, types = operation.partition(":")
        result, _, rest = text.partition(" = ")
        name, *operands = rest.replace(",", " ").split()
        operands, properties = (
            [o for o in operands if o[0] == "%"],
            [o for o in operands if o[0] != "%"],
        )
        before, _, after = types.strip().partition("->")
        given = ", ".join([f"tensor<64x{before.strip() or 'i32'}>"] * len(operands))
        if name == "constant":
            properties = [f"value = dense<{properties[0]}> : tensor<64xi32>"]
        attributes = f" <{{{', '.join(properties)}}}>" if properties else ""
        called = f'"arith.{name}"({", ".join(operands)}){attributes}'
        body.append(f"{result} = {called} : ({given}) -> tensor<64x{after.strip() or 'i32'}>")
    return "\n".join(body)


_WIDEN = ("%x = extui %a: i8 -> i32", "%y = extui %b: i8 -> i32")
_CUT = "%cut = trunci %s: i32 -> i8"


def test_sums_of_bytes_take_16_bits():
    fired, operations = _narrowed(
        _lines(*_WIDEN, "%two = constant 2", "%t = addi %x, %y", "%s = divsi %t, %two", _CUT)
    )
    assert fired == 3
    assert sorted(operations) == sorted(
        ["extui i16", "extui i16", "constant i16", "addi i16", "divui i16"]
    )


def test_what_may_be_below_zero_stays_signed():
    fired, operations = _narrowed(
        _lines(*_WIDEN, "%two = constant 2", "%t = subi %x, %y", "%s = divsi %t, %two", _CUT)
    )
    assert fired == 3
    assert "divsi i16" in operations


_BLENDED = (
    *_WIDEN,
    *("%full = constant 255", "%rest = subi %full, %y", "%front = muli %x, %y"),
    *("%back = muli %x, %rest", "%both = addi %front, %back", "%s = divsi %both, %full"),
    _CUT,
)


def test_what_is_read_twice_is_looked_at_as_a_whole():
    # Each product may be 255 * 255, and their sum no more.
    fired, operations = _narrowed(_lines(*_BLENDED))
    assert fired == 6
    assert {"muli i16", "addi i16", "divui i16"} <= set(operations)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%rest = subi %full, %y", "%rest = subi %full, %x"),  # the products are of x and y apart
        ("%back = muli %x, %rest", "%back = muli %rest, %rest"),  # not linear in y
        ("%full = constant 255", "%full = constant 300"),
    ],
)
def test_sums_of_products_that_need_more_bits(old, new):
    assert old in _BLENDED
    fired, _ = _narrowed(_lines(*(new if each == old else each for each in _BLENDED)))
    assert fired == 0


def test_bytes_stay_bytes():
    fired, operations = _narrowed(_lines(_WIDEN[0], "%m = constant 15", "%s = andi %x, %m", _CUT))
    assert (fired, operations) == (2, ["constant i8", "andi i8"])


def test_comparisons_and_floats_end_what_is_narrow():
    fired, operations = _narrowed(
        _lines(
            *_WIDEN,
            "%s = addi %x, %y",
            "%f = sitofp %s: i32 -> f32",
            "%less = cmpi %s, %x, predicate=2: i32 -> i1",
        )
    )
    assert fired == 3
    assert {"addi i16", "uitofp f32", "cmpi i1"} <= set(operations)


@pytest.mark.parametrize(
    "between",
    [
        ("%t = muli %x, %y", "%s = muli %t, %x"),  # up to 255 cubed
        ("%s = addi %x, %w",),  # one side may be anything
        ("%t = subi %x, %y", "%s = divui %t, %x"),  # below 0 means a large number
        ("%t = addi %x, %y", "%s = addi %t, %x", "%kept = addi %s, %w"),  # needed with 32 bits
        ("%c = constant 20", "%s = shrsi %x, %c"),  # by more than there would be
        ("%t = subi %x, %y", "%s = divsi %x, %t"),  # the divisor may be 0
    ],
)
def test_nothing_is_narrowed_that_needs_32_bits(between):
    fired, operations = _narrowed(_lines(*_WIDEN, *between, _CUT))
    assert fired == 0
    assert "extui i16" not in operations


def test_absolute_values_are_those_of_signed_integers():
    """abs(200) is 56 in 8 bits."""
    body = _lines(*_WIDEN, "%m = absi %x", "%s = minsi %m, %y", _CUT)
    fired, operations = _narrowed(body.replace("arith.absi", "math.absi"))
    assert fired == 3
    assert operations.count("extui i16") == 2
    assert "minsi i16" in operations


def test_a_conversion_alone_is_left():
    fired, _ = _narrowed(_lines(_WIDEN[0], "%f = sitofp %x: i32 -> f32"))
    assert fired == 0


@pytest.mark.parametrize(
    ("operations", "widened"),
    [
        (
            (
                "%t = muli %x, %three",
                "%d = subi %t, %y",
                "%u = muli %d, %three",
                "%s = muli %u, %w",
            ),
            ["trunci i16", "extsi i32"],
        ),
        (("%t = muli %x, %y", "%s = addi %t, %w"), ["trunci i16", "extui i32"]),
    ],
)
def test_products_are_widened_behind(operations, widened):
    body = _lines(*_WIDEN, "%three = constant 3", *operations)
    fired, rewritten = _narrowed(body, widen_late)
    assert fired == 1
    cut = rewritten.index("trunci i16")
    assert rewritten[cut : cut + 2] == widened


@pytest.mark.parametrize(
    "operations",
    [
        ("%t = addi %x, %y", "%s = muli %t, %w"),  # LLVM adds in 16 bits itself
        ("%t = muli %x, %x", "%u = muli %t, %y", "%s = addi %u, %w"),  # no sum reads the 16 bits
        ("%s = muli %x, %w",),  # nothing is narrow
        ("%t = muli %x, %y", "%s = addi %t, %x", _CUT),  # narrow as a whole
        ("%t = muli %x, %y", "%s = divsi %t, %w", "%u = muli %t, %w"),  # saves less than it takes
    ],
)
def test_nothing_is_widened_later(operations):
    assert _narrowed(_lines(*_WIDEN, *operations), widen_late)[0] == 0


_LOADED = (
    '%q = "tt.load"(%words) <{operandSegmentSizes = array<i32: 1, 0, 0>}> '
    ": (tensor<64x!tt.ptr<i32>>) -> tensor<64xi32>\n"
)
_SHIFTED = ("%eight = constant 8", "%h = shrsi %q, %eight")


@pytest.mark.parametrize(
    ("operations", "cut"),
    [
        (("%m = constant 255", "%c = andi %h, %m", "%d = subi %m, %c"), "trunci i8"),
        (("%m = constant 256", "%c = andi %h, %m", "%d = muli %m, %c"), "trunci i16"),
        (("%m = constant 65535", "%c = andi %h, %m", "%d = addi %m, %c"), "trunci i16"),
        (("%m = constant 16", "%c = shrui %h, %m", "%d = divsi %c, %m"), "trunci i16"),
    ],
)
def test_bits_of_what_is_loaded_are_cut(operations, cut):
    fired, rewritten = _narrowed(_LOADED + _lines(*_SHIFTED, *operations), cut_early)
    assert fired == 1
    at = rewritten.index(cut)
    assert rewritten[at : at + 2] == [cut, "extui i32"]


@pytest.mark.parametrize(
    "operations",
    [
        ("%m = constant 65536", "%c = andi %h, %m", "%d = subi %m, %c"),  # has 17 bits
        ("%m = constant -256", "%c = andi %h, %m", "%d = subi %m, %c"),  # keeps the upper ones
        ("%m = constant 15", "%c = shrui %h, %m", "%d = subi %c, %m"),  # leaves 17
        ("%m = constant 255", "%c = andi %w, %m", "%d = subi %m, %c"),  # may be an address
        ("%m = constant 255", "%c = andi %h, %m", "%d = cmpi %c, %m, predicate=2: i32 -> i1"),
        (
            *("%m = constant 255", "%c = andi %h, %m", "%d = subi %m, %c"),
            "%e = extsi %c: i32 -> i64",  # reads all of it
        ),
        (*_WIDEN, "%m = constant 15", "%c = andi %x, %m", "%d = subi %m, %c"),  # is narrow
        (
            *("%m = constant 15", "%c = andi %h, %m", "%d = subi %c, %m"),
            "%e = sitofp %d: i32 -> f32",  # widens the difference at once
        ),
    ],
)
def test_bits_that_stay_wide(operations):
    assert _narrowed(_LOADED + _lines(*_SHIFTED, *operations), cut_early)[0] == 0


@triton.jit
def bits_kernel(a_ptr, b_ptr, out_ptr, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < N, other=-1)
    b = tl.load(b_ptr + at, mask=at < N, other=-1)
    u = b.to(tl.uint32, bitcast=True)
    product = ((a >> 24) & 255) * (255 - ((b >> 4) & 255))
    tl.store(out_ptr + at, (product + 127) // 255, mask=at < N)
    tl.store(out_ptr + N + at, (a & 65535) - (b & 65535), mask=at < N)
    tl.store(out_ptr + 2 * N + at, ((a & 65535) + 1) * 3 // 7, mask=at < N)
    tl.store(out_ptr + 3 * N + at, ((a & 127) - 128) % 5, mask=at < N)
    tl.store(out_ptr + 4 * N + at, ((u >> 24) * 257 + (u >> 16)).to(tl.int32), mask=at < N)
    tl.store(out_ptr + 5 * N + at, (((u & 15) - 8) >> 1).to(tl.int32, bitcast=True), mask=at < N)


def test_bits_of_32_are_those_that_they_were(run):
    random = np.random.default_rng(4).integers(-(1 << 31), 1 << 31, 80)
    edges = [0, -1, 255, 256, 65535, 65536, 127, 128, -256, -(1 << 31), (1 << 31) - 1, -(1 << 24)]
    a = np.append(np.repeat(edges, 12), random).astype(np.int32)
    b = np.append(np.tile(edges, 12), random[::-1]).astype(np.int32)
    u, least = b.view(np.uint32), (a & 127) - 128
    results = [
        (((a >> 24) & 255) * (255 - ((b >> 4) & 255)) + 127) // 255,
        (a & 65535) - (b & 65535),
        ((a & 65535) + 1) * 3 // 7,
        np.fmod(least, 5),
        (u >> 24) * 257 + (u >> 16),
        ((u & 15) - 8) >> 1,
    ]
    expected = np.concatenate([each.astype(np.uint32).view(np.int32) for each in results])
    run(bits_kernel, a_ptr=a, b_ptr=b, out_ptr=Expected(expected), N=len(a), BLOCK=256)


@triton.jit
def blend_kernel(a_ptr, b_ptr, mixed_ptr, moved_ptr, scaled_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    a = tl.load(a_ptr + at, mask=mask, other=0).to(tl.int32)
    b = tl.load(b_ptr + at, mask=mask, other=255).to(tl.int32)
    mixed = (a * b + 127) // 255
    tl.store(mixed_ptr + at, mixed.to(tl.uint8), mask=mask)
    moved = tl.where(a > b, (a - b) // 3, tl.minimum(a - b, -7) % 5)
    tl.store(moved_ptr + at, moved.to(tl.int8), mask=mask)
    tl.store(scaled_ptr + at, (a + b).to(tl.float32) * 0.5 + (a - b), mask=mask)


def test_results_are_those_of_32_bits(run):
    a, b = (each.ravel().astype(np.uint8) for each in np.mgrid[0:256:5, 0:256:3])
    a = np.append(a, np.array([255, 255, 0], np.uint8))
    b = np.append(b, np.array([255, 0, 255], np.uint8))
    x, y = a.astype(np.int32), b.astype(np.int32)
    least = np.minimum(x - y, -7)
    moved = np.where(x > y, (x - y) // 3, least - 5 * np.trunc(least / 5).astype(np.int32))
    run(
        blend_kernel,
        a_ptr=a,
        b_ptr=b,
        mixed_ptr=Expected(((x * y + 127) // 255).astype(np.uint8)),
        moved_ptr=Expected(moved.astype(np.int8)),
        scaled_ptr=Expected(((x + y) * 0.5 + (x - y)).astype(np.float32)),
        N=len(a),
        BLOCK=256,
        grid=((len(a) + 255) // 256,),
    )


_LIMITS = (0, 1, -1, 100, 254, 255, 256, -256, 32767, -32769, 65636, (1 << 31) - 1, -(1 << 31))


@triton.jit
def limits_kernel(
    a_ptr, b_ptr, limits_ptr, out_ptr, scaled_ptr, summed_ptr, N, BLOCK: tl.constexpr
):
    limit = tl.load(limits_ptr + tl.program_id(0))
    at = tl.arange(0, BLOCK)
    mask = at < N
    a = tl.load(a_ptr + at, mask=mask, other=0).to(tl.int32)
    b = tl.load(b_ptr + at, mask=mask, other=7).to(tl.int32)
    d = tl.abs(a - b)
    found = (d > limit).to(tl.int32) + (d >= limit) * 2 + (limit > d) * 4 + (limit >= d) * 8
    found += (d == limit) * 16 + (a != limit) * 32 + (a - b < limit) * 64
    out = tl.program_id(0) * N + at
    tl.store(out_ptr + out, found, mask=mask)
    tl.store(scaled_ptr + out, ((a * 3 - b * 5) * limit) >> 4, mask=mask)
    tl.store(summed_ptr + out, a * b + limit, mask=mask)


def test_numbers_beyond_the_range_of_bytes(run):
    a, b = (each.ravel().astype(np.uint8) for each in np.mgrid[0:256:17, 0:256:15])
    x, y = a.astype(np.int32), b.astype(np.int32)
    d, limits = abs(x - y), np.array(_LIMITS, np.int32)[:, None]
    truths = [d > limits, d >= limits, limits > d, limits >= d, d == limits, x != limits]
    truths.append(x - y < limits)
    run(
        limits_kernel,
        a_ptr=a,
        b_ptr=b,
        limits_ptr=limits.ravel(),
        out_ptr=Expected(sum(truth.astype(np.int32) << k for k, truth in enumerate(truths))),
        scaled_ptr=Expected(((x * 3 - y * 5) * limits) >> 4),
        summed_ptr=Expected(x * y + limits),
        N=len(a),
        BLOCK=512,
        grid=(len(_LIMITS),),
    )

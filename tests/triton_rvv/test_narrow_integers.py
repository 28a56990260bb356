"""Integers that are widened further than their elements need."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from qemu_kernels import Expected

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.frontend.types import element_type
from triton_rvv.lowering.ttir.block_ranges import ranges_of_blocks
from triton_rvv.lowering.ttir.demanded_bits import demanded_bits
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.narrow_integers import narrow_integers
from triton_rvv.targets.target import RVVTarget


def _narrowed(body: str) -> tuple[int, list[str]]:
    """How many operations became narrower, and each with the bits of its elements."""
    arguments = (
        "%a: tensor<64xi8>, %b: tensor<64xi8>, %p: tensor<64x!tt.ptr<i8>>, %w: tensor<64xi32>, "
        "%n: i32, %words: tensor<64x!tt.ptr<i32>>"
    )
    module = parse_module(function(body, arguments))
    fired = narrow_integers(Kernel(module, RVVTarget(), True))
    verify(module)
    return fired, [
        f"{each.name.removeprefix('arith.')} {element_type(each.result.type)}"
        for each in module.walk()
        if each.name.startswith(("arith.", "math."))
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
_STORED = '\n"tt.store"(%p, %cut) : (tensor<64x!tt.ptr<i8>>, tensor<64xi8>) -> ()'
_KEPT = '\n"tt.store"(%words, %s) : (tensor<64x!tt.ptr<i32>>, tensor<64xi32>) -> ()'


def _cut(*operations: str) -> tuple[int, list[str]]:
    """What becomes of operations of whose last, %s, a byte is stored."""
    return _narrowed(_lines(*_WIDEN, *operations, _CUT) + _STORED)


def _kept(*operations: str) -> tuple[int, list[str]]:
    """What becomes of operations whose last, %s, is stored in 32 bits."""
    return _narrowed(_lines(*_WIDEN, *operations) + _KEPT)


def test_sums_of_bytes_take_16_bits():
    fired, operations = _cut("%two = constant 2", "%t = addi %x, %y", "%s = divsi %t, %two")
    assert fired == 2
    assert {"extui i16", "addi i16", "divui i16"} <= set(operations)
    assert not any(each.endswith("i32") for each in operations)


def test_what_may_be_below_zero_stays_signed():
    _, operations = _cut("%two = constant 2", "%t = subi %x, %y", "%s = divsi %t, %two")
    assert "divsi i16" in operations


_BLENDED = (
    *("%full = constant 255", "%rest = subi %full, %y", "%front = muli %x, %y"),
    *("%back = muli %x, %rest", "%both = addi %front, %back", "%s = divsi %both, %full"),
)


def test_what_is_read_twice_is_looked_at_as_a_whole():
    # Each product may be 255 * 255, and their sum no more.
    _, operations = _cut(*_BLENDED)
    assert {"subi i8", "muli i16", "addi i16", "divui i16"} <= set(operations)


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
    _, operations = _cut(*(new if each == old else each for each in _BLENDED))
    assert {"addi i32", "divsi i32"} <= set(operations)


@pytest.mark.parametrize(
    ("operations", "narrow"),
    [
        (("%m = constant 15", "%s = andi %x, %m"), "andi i8"),
        (("%s = muli %x, %w",), "muli i8"),
        (("%t = muli %x, %w", "%u = subi %t, %y", "%s = xori %u, %w"), "xori i8"),
        (("%c = constant 8", "%t = muli %x, %w", "%s = shrsi %t, %c"), "muli i16"),
        (("%c = constant 3", "%s = shli %w, %c"), "shli i8"),
    ],
)
def test_bits_that_nothing_reads(operations, narrow):
    _, rewritten = _cut(*operations)
    assert narrow in rewritten


@pytest.mark.parametrize(
    "operations",
    [
        ("%c = constant 9", "%t = muli %x, %w", "%s = shrsi %t, %c"),  # reads 17 bits
        ("%t = muli %x, %w", "%s = minsi %t, %y"),
        ("%t = muli %x, %w", "%s = divsi %w, %t"),  # the divisor may be 0
        ("%t = subi %x, %w", "%s = divui %t, %x"),
        ("%t = andi %x, %y", "%s = shli %w, %t"),  # by more than there would be
    ],
)
def test_bits_that_are_read(operations):
    last = operations[-1].split()[2]
    _, rewritten = _cut(*operations)
    assert f"{last} i32" in rewritten


def test_comparisons_and_floats_end_what_is_narrow():
    body = _lines(
        *_WIDEN,
        "%s = addi %x, %y",
        "%f = sitofp %s: i32 -> f32",
        "%less = cmpi %s, %x, predicate=2: i32 -> i1",
    )
    fired, operations = _narrowed(body)
    assert fired == 3
    assert {"addi i16", "uitofp f32", "cmpi i1"} <= set(operations)


def test_absolute_values_are_those_of_signed_integers():
    """abs(200) is 56 in 8 bits."""
    body = _lines(*_WIDEN, "%m = absi %x", "%s = minsi %m, %y", _CUT) + _STORED
    _, operations = _narrowed(body.replace("arith.absi", "math.absi"))
    assert "math.absi i16" in operations


@pytest.mark.parametrize(
    ("operations", "rewritten"),
    [
        (
            ("%c = constant 3", "%t = muli %x, %c", "%d = subi %t, %y", "%s = muli %d, %w"),
            ["muli i16", "subi i16", "extsi i32"],
        ),
        (("%t = muli %x, %y", "%s = addi %t, %w"), ["muli i16", "extui i32"]),
    ],
)
def test_what_leads_up_to_32_bits(operations, rewritten):
    assert set(rewritten) < set(_kept(*operations)[1])


@pytest.mark.parametrize(
    "operations",
    [
        ("%s = muli %x, %w",),
        ("%t = muli %x, %y", "%u = divsi %t, %w", "%v = muli %u, %t", "%s = addi %v, %t"),
        ("%t = muli %w, %x", "%s = muli %t, %y"),
    ],
)
def test_what_stays_wide(operations):
    assert "muli i32" in _kept(*operations)[1]


_LOADED = (
    '%q = "tt.load"(%words) <{operandSegmentSizes = array<i32: 1, 0, 0>}> '
    ": (tensor<64x!tt.ptr<i32>>) -> tensor<64xi32>\n"
)


@pytest.mark.parametrize(
    ("operations", "narrow"),
    [
        (("%t = andi %q, %m", "%d = subi %m, %t", "%u = muli %t, %d", "%s = divsi %u, %m"), True),
        (("%t = andi %q, %m", "%s = subi %m, %t"), False),  # widened again at once
        (("%t = andi %q, %q", "%d = subi %m, %t", "%s = muli %t, %d"), False),
    ],
)
def test_bits_of_what_is_loaded(operations, narrow):
    body = _LOADED + _lines("%m = constant 255", *operations) + _KEPT
    assert ("trunci i16" in _narrowed(body)[1]) == narrow


@pytest.mark.parametrize(
    ("operation", "wanted"),
    [
        ("%s = muli %w, %y", 8),
        ("%s = shrsi %w, %c", 15),
        ("%s = shli %w, %c", 1),
        ("%s = shli %w, %y", 8),
        ("%s = andi %w, %c", 3),
        ("%s = andi %w, %y", 8),
        ("%s = maxsi %w, %c", 32),
        ("%s = shrsi %w, %y", 32),
    ],
)
def test_how_many_bits_are_read(operation, wanted):
    body = _lines(*_WIDEN, "%c = constant 7", operation, _CUT) + _STORED
    arguments = "%b: tensor<64xi8>, %a: tensor<64xi8>, %w: tensor<64xi32>"
    arguments += ", %p: tensor<64x!tt.ptr<i8>>"
    (kernel,) = parse_module(function(body, arguments)).regions[0].block.operations
    demanded = demanded_bits(kernel, ranges_of_blocks(kernel))
    assert {value.name: bits for value, bits in demanded.items()}["%w"] == wanted


def test_addresses_stay_as_they_are():
    body = _lines("%m = constant 15", "%s = andi %x, %m", "%u = muli %s, %s")
    address = '\n"tt.addptr"(%words, %u) : (tensor<64x!tt.ptr<i32>>, tensor<64xi32>)'
    address = f"%e = {address.strip()} -> tensor<64x!tt.ptr<i32>>"
    assert _narrowed(_lines(*_WIDEN) + "\n" + body + "\n" + address)[0] == 0


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

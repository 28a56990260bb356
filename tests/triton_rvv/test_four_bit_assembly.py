"""Assembly of a GPU that converts pairs of floats to four bits and back."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv.frontend.four_bit_assembly import HALVES_OF_PAIR, conversion, pair_symbol
from triton_rvv.frontend.types import parse_type

ONE_BY_ONE = tl.constexpr("""
{
    .reg .b8 both;
    .reg .b16 wide;
    cvt.rn.satfinite.e2m1x2.f32 both, $1, $2;
    mov.b16 wide, {both, 0};
    mov.u16 $0, wide;
}
""")
FOUR_BY_FOUR = tl.constexpr("""
{
    .reg .b8 byte0, byte1, byte2, byte3;
    cvt.rn.satfinite.e2m1x2.f32 byte0, $5, $1;
    cvt.rn.satfinite.e2m1x2.f32 byte1, $6, $2;
    cvt.rn.satfinite.e2m1x2.f32 byte2, $7, $3;
    cvt.rn.satfinite.e2m1x2.f32 byte3, $8, $4;
    mov.b32 $0, {byte0, byte1, byte2, byte3};
}
""")
HALVES = tl.constexpr("""
{
    .reg .b8 byte0, byte1, byte2, byte3;
    mov.b32 {byte0, byte1, byte2, byte3}, $4;
    cvt.rn.f16x2.e2m1x2 $0, byte0;
    cvt.rn.f16x2.e2m1x2 $1, byte1;
    cvt.rn.f16x2.e2m1x2 $2, byte2;
    cvt.rn.f16x2.e2m1x2 $3, byte3;
}
""")


@triton.jit
def convert_kernel(x_ptr, y_ptr, one_ptr, four_ptr, halves_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    one = tl.inline_asm_elementwise(ONE_BY_ONE, "=h,f,f", [x, y], tl.uint16, True, 1)
    tl.store(one_ptr + at, one.to(tl.uint8), mask=at < n)
    four = tl.inline_asm_elementwise(FOUR_BY_FOUR, "=r,r,r", [x, y], tl.uint8, True, 4)
    tl.store(four_ptr + at, four, mask=at < n)
    halves = tl.inline_asm_elementwise(HALVES, "=r,r", [four], tl.uint32, True, 4)
    tl.store(halves_ptr + at, halves, mask=at < n)


NUMBERS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], np.float32)


def _codes(x: np.ndarray) -> np.ndarray:
    """By distance; of two as near, the even code."""
    distance = np.abs(np.minimum(np.abs(x), 7)[:, None].astype(np.float64) - NUMBERS)
    least = distance == distance.min(1, keepdims=True)
    even = np.where(least & (np.arange(8) % 2 == 0), 2, least * 1).argmax(1)
    sign = np.signbit(x) * 8
    return np.where(np.isnan(x), 7, even | sign).astype(np.uint8)


def _halves(codes: np.ndarray) -> np.ndarray:
    """The bits of the numbers as half precision."""
    magnitude = NUMBERS[codes & 7].astype(np.float16).view(np.uint16)
    return (magnitude | (codes & 8).astype(np.uint16) << 12).astype(np.uint32)


def test_conversions_round_to_the_nearest_and_stay_finite(run):
    between = (NUMBERS[1:] + NUMBERS[:-1]) / 2
    near = [np.nextafter(between, np.float32(side)) for side in (0, 9)]
    numbers = np.concatenate([NUMBERS, between, *near, [7.0, 1e38, np.inf, 1e-45, 1e-20]])
    x = np.concatenate([numbers, -numbers, [np.nan]]).astype(np.float32)
    y = x[::-1].copy()
    first, second = _codes(x), _codes(y)
    upper, lower = _halves(second), _halves(first)
    run(
        convert_kernel,
        x_ptr=x,
        y_ptr=y,
        one_ptr=Expected(first << 4 | second),
        four_ptr=Expected(second << 4 | first),
        halves_ptr=Expected((upper << 16 | lower).view(np.int32)),
        n=len(x),
        BLOCK=128,
    )


F32, I8, I16, I32 = (parse_type(f"tensor<8x{name}>") for name in ("f32", "i8", "i16", "i32"))
SHORT = "{ .reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, $2, $1; cvt.u32.u8 $0, b; }"


@pytest.mark.parametrize(
    ("text", "packed", "operands", "results", "symbol"),
    [
        (ONE_BY_ONE.value, 1, [F32, F32], [I16], pair_symbol(16, False)),
        (FOUR_BY_FOUR.value, 4, [F32, F32], [I8], pair_symbol(8, True)),
        (SHORT, 1, [F32, F32], [I32], pair_symbol(32, True)),
        (HALVES.value, 4, [I8], [I32], HALVES_OF_PAIR),
        # Registers change places, one is left out, or another instruction stands between them.
        (FOUR_BY_FOUR.value.replace("$5, $1", "$6, $1"), 4, [F32, F32], [I8], None),
        (
            FOUR_BY_FOUR.value.replace("byte0, byte1, byte2", "byte1, byte0, byte2"),
            4,
            [F32, F32],
            [I8],
            None,
        ),
        (HALVES.value.replace("$3, byte3", "$3, byte2"), 4, [I8], [I32], None),
        (HALVES.value.replace("cvt.rn.f16x2.e2m1x2 $3, byte3;", ""), 4, [I8], [I32], None),
        (SHORT.replace("$2, $1", "$1, $1"), 1, [F32, F32], [I32], None),
        (SHORT.replace("cvt.u32.u8", "not.b32"), 1, [F32, F32], [I32], None),
        (SHORT.replace("rn.satfinite", "rn.satfinite.relu"), 1, [F32, F32], [I32], None),
        (ONE_BY_ONE.value.replace("{both, 0}", "{0, both}"), 1, [F32, F32], [I16], None),
        (SHORT, 1, [I32, F32], [I32], None),
        (SHORT, 1, [F32, F32], [F32], None),
        (SHORT, 2, [F32, F32], [I32], None),
        ("", 1, [F32, F32], [I32], None),
    ],
)
def test_what_is_a_conversion(text, packed, operands, results, symbol):
    assert conversion(text, packed, operands, results) == symbol

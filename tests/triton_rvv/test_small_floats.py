"""bf16, half precision and 8-bit floats: every code, every rounding, and arithmetic on them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.frontend.float_formats import SMALL_FLOATS

SMALL = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float8_e5m2: "f8E5M2",
    torch.float8_e4m3fn: "f8E4M3FN",
}


def every_code(dtype):
    bits = torch.uint16 if dtype.itemsize == 2 else torch.uint8
    return torch.arange(1 << (8 * dtype.itemsize)).to(bits).view(dtype)


def near_every_code(dtype):
    """float64 numbers at, half way between, and just beside those half way between all codes."""
    codes = every_code(dtype).double()
    numbers = torch.sort(codes[torch.isfinite(codes)]).values.unique()
    largest = numbers[-1]
    middles = torch.cat([(numbers[1:] + numbers[:-1]) / 2, torch.tensor([1e-30, 1.02, 1.5])])
    beside = [middles * (1 + 2.0**-30), middles * (1 - 2.0**-30), middles * (1 + 2.0**-22)]
    beyond = torch.tensor([np.nan, np.inf, -np.inf, 1e38, -1e38, largest * 1.01, largest * 1.1])
    values = torch.cat([beyond, numbers, middles, *beside])
    return values[: len(values) // 64 * 64] if len(values) > 1 << 14 else values[:1024]


def nearest(values, dtype):
    """`values` rounded once, as Triton's conversions do: 8 bits have no room for what is larger."""
    if dtype.itemsize == 1:
        largest = torch.finfo(dtype).max
        values = torch.where(values.isnan(), values, values.clamp(-largest, largest))
    small = SMALL_FLOATS[SMALL[dtype]]
    codes = [small.encode(value) for value in values.tolist()]
    bits = torch.uint16 if dtype.itemsize == 2 else torch.uint8
    return torch.tensor(codes, dtype=torch.int64).to(bits).view(dtype)


# Those of 16 bits have 65,536 codes, which Python decodes one by one.
@pytest.mark.parametrize(
    "dtype",
    [pytest.param(d, marks=pytest.mark.long if d.itemsize > 1 else ()) for d in SMALL],
    ids=str,
)
def test_codes_stand_for_the_numbers_that_torch_knows(dtype):
    small, codes = SMALL_FLOATS[SMALL[dtype]], every_code(dtype)
    decoded = torch.tensor([small.decode(code) for code in range(len(codes))])
    torch.testing.assert_close(decoded, codes.float(), equal_nan=True, atol=0, rtol=0)
    back = nearest(codes.double(), dtype)
    numbers = torch.isfinite(codes.float())  # 8-bit floats saturate instead
    assert torch.equal(back[numbers].view(torch.int8), codes[numbers].view(torch.int8))
    values = near_every_code(dtype).float()
    if dtype.itemsize == 2:
        torch.testing.assert_close(
            nearest(values, dtype), values.to(dtype), equal_nan=True, atol=0, rtol=0
        )


@triton.jit
def convert_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets).to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_widening_is_exact(run, dtype):
    codes = every_code(dtype)
    block = min(len(codes), 1024)
    for wide in (torch.float32, torch.float64):
        expected = Expected(codes.to(wide))
        run(convert_kernel, x_ptr=codes, out_ptr=expected, N=block, grid=(len(codes) // block,))


@pytest.mark.parametrize(
    ("source", "dtype"),
    in_turn([torch.float32, torch.float64], [*SMALL]),
)
def test_narrowing_rounds_once_to_nearest(run, dtype, source):
    values = near_every_code(dtype).to(source)
    values = values[: len(values) // 64 * 64]
    expected = Expected(nearest(values.double(), dtype))
    run(convert_kernel, x_ptr=values, out_ptr=expected, N=64, grid=(len(values) // 64,))


@pytest.mark.parametrize(
    "vlen_bits",
    [
        128,
        pytest.param(256, marks=pytest.mark.long),
        pytest.param(512, marks=pytest.mark.long),
        1024,
    ],
)
def test_vectors_of_any_length_become_bfloats_and_back(run, vlen_bits):
    """Among them NaN of which no bit is left in the upper half."""
    bits = torch.tensor(
        [0x7F800001, 0x7FFFFFFF, -1, -0x7FFFFF, 0x7F7FFFFF, 1, 0x3F808000, 0x3F818000]
    )
    values = torch.cat([bits.to(torch.int32).view(torch.float32), torch.randn(504)])
    narrow = nearest(values.double(), torch.bfloat16)
    for width in (2, 4, 8, 32, 512):
        some, expected = values[:width].clone(), narrow[:width].clone()
        run(convert_kernel, x_ptr=some, out_ptr=Expected(expected), N=width, vlen_bits=vlen_bits)
        wide = Expected(expected.float())
        run(convert_kernel, x_ptr=expected, out_ptr=wide, N=width, vlen_bits=vlen_bits)


@pytest.mark.parametrize(("vlen_bits", "width"), [(128, 2), (128, 64), (1024, 2), (1024, 16)])
def test_vectors_of_any_length_become_floats_from_8_bits(run, vlen_bits, width):
    codes = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn)
    grid = (256 // width,)
    run(convert_kernel, x_ptr=codes, out_ptr=Expected(codes.float()), N=width, grid=grid,
        vlen_bits=vlen_bits)  # fmt: skip


@pytest.mark.parametrize(("core", "scales_as_it_widens"), [("x60", True), ("rva23", False)])
def test_8_bits_become_floats_over_half_precision(core, scales_as_it_widens):
    """Where no arithmetic in fp16 is, a conversion and a product take the place of one product."""
    signature = {"x_ptr": "*fp8e4nv", "out_ptr": "*fp32"}
    assembly = compile_kernel(convert_kernel, signature, {"N": 32}, RVVTarget.named(core)).assembly
    assert "vwmulsu.vx" in assembly
    assert ("vfwmul.vf" in assembly) == scales_as_it_widens
    assert ("vfwcvt.f.f.v" in assembly) != scales_as_it_widens


@triton.jit
def truncate_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    narrow = tl.load(x_ptr + offsets).to(out_ptr.dtype.element_ty, fp_downcast_rounding="rtz")
    tl.store(out_ptr + offsets, narrow)


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_narrowing_toward_zero(run, dtype):
    values = near_every_code(dtype).float()
    values = values[torch.isfinite(values)][:1024]
    values = values[: len(values) // 64 * 64]
    near = nearest(values.double(), dtype).view(torch.int16 if dtype.itemsize == 2 else torch.int8)
    too_far = near.view(dtype).double().abs() > values.double().abs()
    toward_zero = (near - too_far.to(near.dtype)).view(dtype)
    expected = Expected(toward_zero)
    run(truncate_kernel, x_ptr=values, out_ptr=expected, N=64, grid=(len(values) // 64,))


def test_narrowing_doubles_to_floats_toward_zero(run):
    values = torch.tensor(
        [1 / 3, -1 / 3, 1e300, -1e-300, 1.5, -0.0, 1 + 2.0**-24, 1e-40] * 8
    ).double()
    near = values.float()
    too_far = near.double().abs() > values.abs()
    expected = (near.view(torch.int32) - too_far.int()).view(torch.float32)
    run(truncate_kernel, x_ptr=values, out_ptr=Expected(expected), N=64)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("integer", [torch.int8, torch.int32, torch.uint32], ids=str)
def test_integers_and_small_floats(run, dtype, integer):
    limit = 60000 if integer is not torch.int8 else 127
    low = 0 if integer is torch.uint32 else -limit
    x = torch.linspace(low, limit, 64).to(torch.int64).to(integer)
    run(convert_kernel, x_ptr=x, out_ptr=Expected(nearest(x.double(), dtype)), N=64)
    back = torch.linspace(low / 2, limit / 2, 64).to(dtype)
    run(
        convert_kernel,
        x_ptr=back,
        out_ptr=Expected(back.double().to(torch.int64).to(integer)),
        N=64,
    )


@triton.jit
def arithmetic_kernel(x_ptr, y_ptr, out_ptr, less_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    tl.store(less_ptr + offsets, x < y)
    tl.store(out_ptr + offsets, x + y)
    tl.store(out_ptr + N + offsets, x - y)
    tl.store(out_ptr + 2 * N + offsets, x * y)
    tl.store(out_ptr + 3 * N + offsets, (x / y).to(x.dtype))
    tl.store(out_ptr + 4 * N + offsets, tl.where(x < y, x, 1.5))
    tl.store(out_ptr + 5 * N + offsets, tl.maximum(x, y))
    tl.store(out_ptr + 6 * N + offsets, tl.abs(-x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("n", [1, 64])
def test_arithmetic_rounds_after_every_operation(run, dtype, n):
    random = torch.Generator().manual_seed(5)
    x, y = (torch.randn(n, generator=random).to(dtype) for _ in range(2))
    if n > 1:
        x[:4] = torch.tensor([0.0, -0.0, torch.inf, 1.0])
    rows = [x + y, x - y, x * y, x / y, torch.where(x < y, x, 1.5), torch.maximum(x, y), x.abs()]
    less = Expected((x < y).numpy())
    run(
        arithmetic_kernel, x_ptr=x, y_ptr=y, out_ptr=Expected(torch.stack(rows)), less_ptr=less, N=n
    )


@triton.jit
def reduce_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out_ptr + tl.arange(0, M), tl.max(x, axis=1))
    tl.store(out_ptr + M + tl.arange(0, M), tl.sum(x, axis=1).to(x.dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_reductions(run, dtype):
    x = torch.randint(-8, 9, (4, 64), generator=torch.Generator().manual_seed(6)).to(dtype)
    expected = torch.stack([x.amax(1), x.double().sum(1).to(dtype)])
    run(reduce_kernel, x_ptr=x, out_ptr=Expected(expected), M=4, N=64)


@triton.jit
def bits_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x.to(tl.int16, bitcast=True) ^ 1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_bits_of_a_small_float(run, dtype):
    x = every_code(dtype)[:: 1 << 10]
    run(bits_kernel, x_ptr=x, out_ptr=Expected(x.view(torch.int16) ^ 1), N=len(x))

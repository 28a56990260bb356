"""Floats as integers of 8 and 16 bits, with limits that are known beforehand and without."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected
from triton.language.extra import libdevice

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.targets.host_target import host_target

N = 4096
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 127.5, -128.5, 255.5, 3e38, -3e38, -1e-40, 1e-40]
SPECIAL += [-(2.0**-20), -(2.0**-30), -(2.0**-60), 0.49999997, 0.99999994, -0.99999994]


@triton.jit
def signed_kernel(
    x_ptr, floor_ptr, after_ptr, cut_ptr, sum_ptr, short_ptr, below_ptr, N: tl.constexpr
):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(floor_ptr + at, tl.clamp(tl.floor(x), -128.0, 127.0).to(tl.int8))
    inside = tl.minimum(tl.maximum(x, -100.0), 90.0)
    tl.store(after_ptr + at, tl.floor(inside).to(tl.int8))
    tl.store(cut_ptr + at, inside.to(tl.int8))
    tl.store(sum_ptr + at, tl.clamp(tl.floor(x + 0.5), -127.0, 127.0).to(tl.int8))
    tl.store(short_ptr + at, tl.clamp(tl.floor(x * 100), -32768.0, 32767.0).to(tl.int16))
    # -0.0 itself would be 0.0: Triton makes a null value of it.
    below = tl.minimum(tl.maximum(x + 1.0, -128.0), tl.zeros((N,), tl.float32) * -1.0)
    tl.store(below_ptr + at, tl.floor(below).to(tl.int8))


@triton.jit
def unsigned_kernel(x_ptr, floor_ptr, cut_ptr, other_ptr, short_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(floor_ptr + at, tl.clamp(tl.floor(x), 0.0, 255.0).to(tl.uint8))
    # The other order makes another number of NaN.
    inside = tl.maximum(tl.minimum(x, 255.0), 0.0)
    tl.store(cut_ptr + at, inside.to(tl.uint8))
    # Limits that are not whole, or do not fit.
    tl.store(other_ptr + at, tl.clamp(x, -0.5, 255.5).to(tl.uint8))
    tl.store(short_ptr + at, tl.clamp(x * 100, 1.0, 65535.0).to(tl.uint16))


@triton.jit
def cut_kernel(x_ptr, byte_ptr, short_ptr, away_ptr, quarter_ptr, toward_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(byte_ptr + at, x.to(tl.int8))
    tl.store(short_ptr + at, (x * 300).to(tl.int16))
    tl.store(away_ptr + at, tl.where(x >= 0, x + 0.5, x - 0.5).to(tl.int8))
    tl.store(quarter_ptr + at, tl.where(x > 0, x + 0.25, x - 0.25).to(tl.int16))
    tl.store(toward_ptr + at, tl.where(x >= 0, x - 0.5, x + 0.5).to(tl.int8))


@triton.jit
def rounded_kernel(
    x_ptr, down_ptr, half_ptr, byte_ptr, near_ptr, up_ptr, cut_ptr, inside_ptr, N: tl.constexpr
):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(down_ptr + at, tl.floor(x).to(tl.int8))
    tl.store(half_ptr + at, tl.floor(x * 100 + 0.5).to(tl.int16))
    tl.store(byte_ptr + at, tl.floor(x).to(tl.uint8))
    tl.store(near_ptr + at, libdevice.rint(x).to(tl.uint8))
    tl.store(up_ptr + at, tl.ceil(x).to(tl.int8))
    tl.store(cut_ptr + at, libdevice.trunc(x * 300).to(tl.int16))
    # NaN becomes the limit that is put to it first.
    inside = tl.maximum(tl.minimum(libdevice.rint(x), 90.0), -128.0)
    tl.store(inside_ptr + at, inside.to(tl.int8))


@triton.jit
def rounded_words_kernel(
    x_ptr, down_ptr, kept_ptr, of_kept_ptr, near_ptr, up_ptr, cut_ptr, N: tl.constexpr
):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(down_ptr + at, tl.floor(x).to(tl.int32))
    kept = tl.floor(x)
    tl.store(kept_ptr + at, kept)
    tl.store(of_kept_ptr + at, kept.to(tl.int32))
    tl.store(near_ptr + at, libdevice.rint(x).to(tl.int32))
    tl.store(up_ptr + at, tl.ceil(x).to(tl.int32))
    tl.store(cut_ptr + at, libdevice.trunc(x).to(tl.int32))


def _numbers() -> np.ndarray:
    """Around whole numbers and halves, of all sizes, and special ones."""
    random = np.random.default_rng(0)
    halves = random.integers(-300, 600, N).astype(np.float32) / 2
    x = halves + random.integers(-2, 3, N).astype(np.float32) * np.spacing(halves)
    quarter = N // 4
    x[:quarter] = random.standard_normal(quarter) * 10.0 ** random.integers(-30, 6, quarter)
    x[: len(SPECIAL)] = SPECIAL
    return x.astype(np.float32)


def _clamped(x: np.ndarray, low: float, high: float) -> np.ndarray:
    return np.fmin(np.fmax(x, np.float32(low)), np.float32(high))


@pytest.mark.parametrize("vlen_bits", in_turn([128, 256, 512], turns=1))
def test_with_sign(run, vlen_bits):
    x = _numbers()
    inside = _clamped(x, -100, 90)
    with np.errstate(all="ignore"):
        outputs = {
            "floor_ptr": np.floor(_clamped(x, -128, 127)).astype(np.int8),
            "after_ptr": np.floor(inside).astype(np.int8),
            "cut_ptr": np.trunc(inside).astype(np.int8),
            "sum_ptr": np.floor(_clamped(x + np.float32(0.5), -127, 127)).astype(np.int8),
            "short_ptr": np.floor(_clamped(x * np.float32(100), -32768, 32767)).astype(np.int16),
            "below_ptr": np.floor(_clamped(x + np.float32(1), -128, -0.0)).astype(np.int8),
        }
    expected = {name: Expected(output) for name, output in outputs.items()}
    run(signed_kernel, x_ptr=x, **expected, N=N, vlen_bits=vlen_bits)


@pytest.mark.parametrize("vlen_bits", in_turn([128, 256, 512], turns=1))
def test_without_sign(run, vlen_bits):
    x = _numbers()
    other = np.trunc(_clamped(x, -0.5, 255.5))
    with np.errstate(all="ignore"):
        outputs = {
            "floor_ptr": np.floor(_clamped(x, 0, 255)).astype(np.uint8),
            "cut_ptr": np.trunc(np.fmax(np.fmin(x, 255), 0)).astype(np.uint8),
            "other_ptr": np.maximum(other, 0).astype(np.uint8),
            "short_ptr": np.trunc(_clamped(x * np.float32(100), 1, 65535)).astype(np.uint16),
        }
    expected = {name: Expected(output) for name, output in outputs.items()}
    run(unsigned_kernel, x_ptr=x, **expected, N=N, vlen_bits=vlen_bits)


def _cut(x: np.ndarray, type_: type[np.integer]) -> np.ndarray:
    """Cut off at the point; what is too large becomes the integer that comes closest, NaN 0."""
    limits = np.iinfo(type_)
    whole = np.nan_to_num(np.trunc(x.astype(np.float64)), nan=0.0)
    return np.clip(whole, limits.min, limits.max).astype(type_)


@pytest.mark.parametrize("vlen_bits", in_turn([256, 128], turns=1))
def test_without_limits(run, vlen_bits):
    x = _numbers()
    half, quarter = np.float32(0.5), np.float32(0.25)
    with np.errstate(all="ignore"):
        outputs = {
            "byte_ptr": _cut(x, np.int8),
            "short_ptr": _cut(x * np.float32(300), np.int16),
            "away_ptr": _cut(np.where(x >= 0, x + half, x - half), np.int8),
            "quarter_ptr": _cut(np.where(x > 0, x + quarter, x - quarter), np.int16),
            "toward_ptr": _cut(np.where(x >= 0, x - half, x + half), np.int8),
        }
    expected = {name: Expected(output) for name, output in outputs.items()}
    run(cut_kernel, x_ptr=x, **expected, N=N, vlen_bits=vlen_bits)


@pytest.mark.parametrize("vlen_bits", in_turn([128, 256], turns=1))
def test_rounded_before(run, vlen_bits):
    x = _numbers()
    with np.errstate(all="ignore"):
        outputs = {
            "down_ptr": _cut(np.floor(x), np.int8),
            "half_ptr": _cut(np.floor(x * np.float32(100) + np.float32(0.5)), np.int16),
            "byte_ptr": _cut(np.floor(x), np.uint8),
            "near_ptr": _cut(np.rint(x), np.uint8),
            "up_ptr": _cut(np.ceil(x), np.int8),
            "cut_ptr": _cut(x * np.float32(300), np.int16),
            "inside_ptr": np.fmax(np.fmin(np.rint(x), 90), -128).astype(np.int8),
        }
    expected = {name: Expected(output) for name, output in outputs.items()}
    run(rounded_kernel, x_ptr=x, **expected, N=N, vlen_bits=vlen_bits)


@pytest.mark.parametrize("vlen_bits", in_turn([256, 128], turns=1))
def test_words_rounded_before(run, vlen_bits):
    x = _numbers()
    x[-N // 4 :] *= np.float32(2.0**24)  # about what fits
    outputs = {
        "down_ptr": _cut(np.floor(x), np.int32),
        "kept_ptr": np.floor(x),
        "of_kept_ptr": _cut(np.floor(x), np.int32),
        "near_ptr": _cut(np.rint(x), np.int32),
        "up_ptr": _cut(np.ceil(x), np.int32),
        "cut_ptr": _cut(x, np.int32),
    }
    expected = {name: Expected(output) for name, output in outputs.items()}
    run(rounded_words_kernel, x_ptr=x, **expected, N=N, vlen_bits=vlen_bits)


@triton.jit
def floor_kernel(x_ptr, y_ptr, z_ptr, IS_KEPT: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    whole = tl.floor(tl.load(x_ptr + at))
    tl.store(y_ptr + at, whole.to(y_ptr.dtype.element_ty))
    if IS_KEPT:
        tl.store(z_ptr + at, whole)


def test_what_converts_a_float_rounds_it():
    def lowered(element, target, is_kept=False):
        types = {"x_ptr": "*fp32", "y_ptr": f"*{element}", "z_ptr": "*fp32"}
        constants = {"IS_KEPT": is_kept, "N": 256}
        code = compile_kernel(floor_kernel, types, constants, target).llir
        return [line for line in code.splitlines() if " call " in line]

    core = RVVTarget.named("x60")
    assert not any("llvm.rint" in call for call in lowered("i8", core))
    assert not any("llvm.rint" in call for call in lowered("i32", core))
    # What is kept is rounded down already.
    assert any("llvm.rint" in call for call in lowered("i32", core, is_kept=True))
    assert not any("ssub.sat" in call for call in lowered("i32", core, is_kept=True))
    assert not any("llvm.riscv" in call for call in lowered("i8", host_target()))


@triton.jit
def away_kernel(x_ptr, y_ptr, C: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.where(x >= 0, x + C, x - C).to(tl.int8))


def test_a_choice_by_sign_becomes_a_number_with_the_sign():
    def lowered(amount, target):
        compiled = compile_kernel(
            away_kernel, {"x_ptr": "*fp32", "y_ptr": "*i8"}, {"C": amount, "N": 256}, target
        )
        return compiled.llir

    core = RVVTarget.named("x60")
    assert "llvm.riscv.vnclip" in lowered(0.5, core)
    assert "fcmp oge" not in lowered(0.5, core)
    assert "fcmp oge" in lowered(1.5, core)  # 0 and -0 would become 1 and -1
    assert "llvm.riscv" not in lowered(0.5, host_target())

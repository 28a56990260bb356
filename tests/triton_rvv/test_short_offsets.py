"""Offsets of gathers and scatters in few bits."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.lowering.ttir.short_offsets import OFFSET_BITS

_GATHER = """
%at = "tt.make_range"() {end = 64, start = 0} : () -> tensor<64xi32>
%ints = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
%from = "tt.addptr"(%ints, %at) : (POINTERS, tensor<64xi32>) -> POINTERS
%v = "tt.load"(%from) : (tensor<64x!tt.ptr<f32>>) -> tensor<64xf32>
%bits = "tt.bitcast"(%v) : (tensor<64xf32>) -> tensor<64xi32>
%k = "arith.constant"() {value = dense<NUMBER> : tensor<64xi32>} : () -> tensor<64xi32>
%places = "arith.OPERATION"(%bits, %k) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
%table = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
%p = "tt.addptr"(%table, %places) : (POINTERS, tensor<64xi32>) -> POINTERS
%found = "tt.load"(%p) : (POINTERS) -> tensor<64xf32>
""".replace("POINTERS", "tensor<64x!tt.ptr<f32>>")


@pytest.mark.parametrize(
    ("operation", "number", "bits"),
    [
        ("shrui", 26, 8),
        ("shrui", 25, 16),
        ("shrui", 18, 16),
        ("shrui", 17, None),
        ("andi", 63, None),  # to cut them takes an instruction
        ("shrsi", 18, None),  # may be negative
        ("maxsi", 0, None),
    ],
)
def test_offsets_that_fit_few_bits(operation, number, bits):
    body = _GATHER.replace("OPERATION", operation).replace("NUMBER", str(number))
    count, module = after("mark-short-offsets", body)
    *_, addition = (each for each in module.walk() if each.name == "tt.addptr")
    assert (count, addition.attributes.get(OFFSET_BITS)) == (bits is not None, bits)


@triton.jit
def _look_up(key_ptr, table_ptr, y_ptr, z_ptr, N, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    key = tl.load(key_ptr + at, mask=mask, other=-1).to(tl.uint32, bitcast=True)
    place = (key >> SHIFT).to(tl.int32)
    is_known = mask & (key != 7)
    found = tl.load(table_ptr + place, mask=is_known, other=1)
    tl.store(y_ptr + at, found, mask=mask)
    tl.store(z_ptr + place, found, mask=is_known)


@pytest.mark.parametrize(
    ("bits", "type_"),
    [(6, "f4"), (8, "i1"), (14, "i4"), (15, "i2"), (13, "i8")],
)
def test_places_at_both_ends(run, bits, type_):
    """The largest offsets that a width holds, or does not, are not taken for negative ones."""
    random = np.random.default_rng(bits)
    keys = random.integers(-(2**31), 2**31, 98, dtype=np.int64).astype(np.int32)
    keys[:3] = -1, 0, 7
    table = random.integers(-99, 99, 1 << bits).astype(type_)
    places, start = keys.view(np.uint32) >> (32 - bits), np.full(1 << bits, 77).astype(type_)
    written = start.copy()
    written[places] = table[places]
    run(
        _look_up,
        grid=(2,),
        key_ptr=keys,
        table_ptr=table,
        y_ptr=Expected(np.where(keys == 7, 1, table[places]).astype(type_)),
        z_ptr=Expected(written, start=start),
        N=len(keys),
        SHIFT=32 - bits,
        BLOCK=64,
    )


def test_instructions_take_short_offsets():
    types = {
        "key_ptr": "*i32",
        "table_ptr": "*fp32",
        "y_ptr": "*fp32",
        "z_ptr": "*fp32",
        "N": "i32",
    }
    target = RVVTarget.named("x60")
    made = compile_kernel(_look_up, types, {"SHIFT": 26, "BLOCK": 64}, target)
    assert "vluxei8" in made.assembly
    assert "vluxei64" not in made.assembly

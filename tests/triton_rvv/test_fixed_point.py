"""Shifts that round, and integers that are limited and cut behind a shift."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from qemu_kernels import Expected

from triton_rvv.frontend.ttir import Operation, parse_module
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.frontend.types import ScalarType
from triton_rvv.lowering.ttir.fixed_point import CLIPS, ROUNDS, mark_clipped, mark_rounded
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.narrow_factors import narrow_factors
from triton_rvv.lowering.ttir.narrow_integers import narrow_integers
from triton_rvv.targets.target import RVVTarget

_START = """
%x = "arith.extsi"(%a) : (tensor<64xi16>) -> tensor<64xi32>
%y = "arith.extsi"(%b) : (tensor<64xi16>) -> tensor<64xi32>
%low = "arith.extui"(%c) : (tensor<64xi8>) -> tensor<64xi32>
"""
_ARGUMENTS = (
    "%a: tensor<64xi16>, %b: tensor<64xi16>, %c: tensor<64xi8>, %w: tensor<64xi32>, "
    "%i: tensor<64x!tt.ptr<i32>>, %h: tensor<64x!tt.ptr<i16>>, %q: tensor<64x!tt.ptr<i8>>, %n: i32"
)
_STORES = {"i32": "%i", "i16": "%h", "i8": "%q"}


def _marked(*operations: str, known: int | None = None) -> Kernel:
    """A kernel behind the passes; its operations such as `%s = addi %x 4`; %s is stored."""
    body, element, number = [_START], "i32", 0
    for operation in operations:
        result, _, rest = operation.partition(" = ")
        name, *operands = rest.split()
        values = []
        for each in operands:
            if each[0] == "%":
                values.append(each)
                continue
            values.append(f"%k{number}")
            number += 1
            body.append(
                f'{values[-1]} = "arith.constant"() {{value = dense<{each}> : tensor<64xi32>}}'
                " : () -> tensor<64xi32>"
            )
        name, _, after = name.partition(":")
        element = after or "i32"
        types = ", ".join(["i32" if name == "splat" else "tensor<64xi32>"] * len(values))
        dialect = "tt" if name == "splat" else "arith"
        called = f'{result} = "{dialect}.{name}"({", ".join(values)})'
        body.append(f"{called} : ({types}) -> tensor<64x{element}>")
    where = f"(tensor<64x!tt.ptr<{element}>>, tensor<64x{element}>)"
    body.append(f'"tt.store"({_STORES[element]}, %s) : {where} -> ()')
    module = parse_module(function("\n".join(body), _ARGUMENTS))
    kernel = Kernel(module, RVVTarget(), True, [None] * 7 + [known])
    for run in (mark_rounded, narrow_integers, narrow_factors, mark_clipped):
        run(kernel)
        verify(module)
    return kernel


def _with(kernel: Kernel, attribute: str) -> list[Operation]:
    return [each for each in kernel.module.walk() if attribute in each.attributes]


_PRODUCT = "%p = muli %x %y"


@pytest.mark.parametrize(
    ("operations", "rounds"),
    [
        ((_PRODUCT, "%t = addi %p 16384", "%s = shrsi %t 15"), True),
        ((_PRODUCT, "%t = addi 16384 %p", "%s = shrsi %t 15"), True),
        (("%p = muli %low 200", "%t = addi %p 128", "%u = shrsi %t 8", "%s = trunci:i8 %u"), True),
        ((_PRODUCT, "%t = addi %p 16383", "%s = shrsi %t 15"), False),
        (("%t = addi %w 16384", "%s = shrsi %t 15"), False),  # may wrap
        (("%t = addi %low 1", "%s = shrsi %t 1"), False),  # an average
        ((_PRODUCT, "%t = addi %p 8", "%u = shrsi %t 4", "%s = addi %t %u"), False),
        # 16 bits have no place for the sum, of which 8 bits are read
        (("%p = muli %low 257", "%t = addi %p 128", "%u = shrsi %t 8", "%s = trunci:i8 %u"), False),
        # 16 bits have no sign, but what the sum begins with has
        (("%p = addi %low -1", "%t = addi %p 8", "%u = shrsi %t 4", "%s = shrui %u 1"), False),
        (("%p = addi %low -9", "%t = addi %p 8", "%s = shrui %t 4"), False),
    ],
)
def test_shifts_that_round(operations, rounds):
    assert bool(_with(_marked(*operations), ROUNDS)) == rounds


@pytest.mark.parametrize(
    ("operations", "clips"),
    [
        (
            (
                "%t = shrsi %w 9",
                "%u = maxsi %t -32768",
                "%v = minsi %u 99",
                "%s = trunci:i16 %v",
            ),
            [1, -32768, 99],
        ),
        (
            ("%t = shrsi %w 9", "%u = minsi 255 %t", "%v = maxsi %u 0", "%s = trunci:i8 %v"),
            [1, 0, 255],
        ),
        (
            ("%t = shrsi %w 9", "%u = maxsi %t -5", "%v = minsi %u 9", "%s = trunci:i8 %v"),
            [1, -5, 9],
        ),
        # the range of the product says the other limit
        (
            (_PRODUCT, "%t = shrsi %p 15", "%u = minsi %t 32767", "%s = trunci:i16 %u"),
            [1, -32768, 32767],
        ),
        ((_PRODUCT, "%t = addi %p 16384", "%u = shrsi %t 16", "%s = trunci:i16 %u"), None),
        (
            (_PRODUCT, "%t = addi %p 32768", "%u = shrsi %t 16", "%s = trunci:i16 %u"),
            [1, -32768, 32767],
        ),
        (("%t = shrsi %w 9", "%u = minsi %t 32767", "%s = trunci:i16 %u"), None),
        (("%t = shrsi %w 9", "%u = maxsi %t -9", "%v = minsi %u 128", "%s = trunci:i8 %v"), None),
        (("%t = shrsi %w 9", "%u = maxui %t 3", "%v = minsi %u 9", "%s = trunci:i8 %v"), None),
        (("%t = shrsi %w %w", "%u = maxsi %t -5", "%v = minsi %u 9", "%s = trunci:i8 %v"), None),
        (("%u = maxsi %w -128", "%v = minsi %u 127", "%s = trunci:i8 %v"), None),
    ],
)
def test_what_is_limited_and_cut(operations, clips):
    found = [each.integers(CLIPS) for each in _with(_marked(*operations), CLIPS)]
    assert found == ([] if clips is None else [clips])


@pytest.mark.parametrize(
    ("block", "known", "widened"),
    [
        ("%x", 32767, "arith.extsi"),
        ("%x", -32768, "arith.extsi"),
        ("%x", 32768, None),
        ("%x", None, None),
        ("%low", -32768, "arith.extsi"),
        ("%low", 40000, None),
        ("%w", 3, None),
    ],
)
def test_known_factors_of_widened_blocks(block, known, widened):
    kernel = _marked("%g = splat %n", f"%s = muli {block} %g", known=known)
    widths = [each for each in kernel.module.walk() if each.name.startswith("arith.ext")]
    scalars = [each.name for each in widths if isinstance(each.result.type, ScalarType)]
    assert scalars == ([widened] if widened else [])


@triton.jit
def cut_kernel(x_ptr, halves_ptr, bytes_ptr, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0)
    u = x.to(tl.uint32, bitcast=True)
    y = tl.minimum(tl.maximum(x >> 9, -32768), 32767)
    tl.store(halves_ptr + at, y.to(tl.int16), mask=mask)
    y = tl.maximum(tl.minimum((x + 128) >> 8, 30000), -7)
    tl.store(halves_ptr + N + at, y.to(tl.int16), mask=mask)
    y = tl.minimum(tl.maximum(x >> 3, 0), 65535)
    tl.store(halves_ptr + 2 * N + at, y.to(tl.uint16).to(tl.int16, bitcast=True), mask=mask)
    y = tl.minimum(u >> 5, 40000)
    tl.store(halves_ptr + 3 * N + at, y.to(tl.uint16).to(tl.int16, bitcast=True), mask=mask)
    y = tl.minimum(tl.maximum(x >> 3, -128), 127)
    tl.store(bytes_ptr + at, y.to(tl.int8), mask=mask)
    y = tl.minimum(tl.maximum(x >> 8, 0), 255)
    tl.store(bytes_ptr + N + at, y.to(tl.uint8).to(tl.int8, bitcast=True), mask=mask)
    y = tl.minimum(tl.maximum(x >> 16, 3), 200)
    tl.store(bytes_ptr + 2 * N + at, y.to(tl.uint8).to(tl.int8, bitcast=True), mask=mask)


@pytest.mark.parametrize(("count", "block"), [(512, 512), (1, 1)])
def test_limits_of_any_integers(run, count, block):
    near = np.array([[0, 1, -1, 2, -2]], np.int64)
    powers = (1 << np.arange(31, dtype=np.int64))[:, None]
    edges = [*(powers + near).ravel(), *(near - powers).ravel(), -(1 << 31), (1 << 31) - 1]
    edges += [127 << 8, 128 << 8, 255 << 8, (255 << 8) + 128, 200 << 16, 32767 << 9, 40000 << 5]
    x = np.clip(np.array(edges), -(1 << 31), (1 << 31) - 1).astype(np.int32)[:count]
    u = x.view(np.uint32)
    with np.errstate(over="ignore"):
        rounded = (x + np.int32(128)) >> 8
    halves = [np.clip(x >> 9, -32768, 32767), np.clip(rounded, -7, 30000)]
    halves += [np.clip(x >> 3, 0, 65535), np.minimum(u >> 5, 40000)]
    parts = [np.clip(x >> 3, -128, 127), np.clip(x >> 8, 0, 255), np.clip(x >> 16, 3, 200)]
    run(
        cut_kernel,
        x_ptr=x,
        halves_ptr=Expected(np.concatenate([each.astype(np.int16) for each in halves])),
        bytes_ptr=Expected(np.concatenate([each.astype(np.int8) for each in parts])),
        N=len(x),
        BLOCK=block,
    )


@triton.jit
def fixed_kernel(a_ptr, b_ptr, gain, halves_ptr, bytes_ptr, words_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    a = tl.load(a_ptr + at, mask=mask, other=0).to(tl.int32)
    b = tl.load(b_ptr + at, mask=mask, other=0).to(tl.int32)
    y = tl.minimum((a * b + 0x4000) >> 15, 32767)
    tl.store(halves_ptr + at, y.to(tl.int16), mask=mask)
    y = (a * gain + 0x4000) >> 15
    tl.store(halves_ptr + N + at, tl.minimum(tl.maximum(y, -32768), 32767).to(tl.int16), mask=mask)
    y = ((a * b + (1 << 20)) >> 21) + 7
    tl.store(bytes_ptr + at, tl.minimum(tl.maximum(y, -128), 127).to(tl.int8), mask=mask)
    y = ((a & 255) * 77 + (b & 255) * 150 + 128) >> 8
    tl.store(bytes_ptr + N + at, y.to(tl.uint8).to(tl.int8, bitcast=True), mask=mask)
    tl.store(words_ptr + at, (a * b + 8) >> 4, mask=mask)
    tl.store(words_ptr + N + at, ((a.to(tl.int64) * b + (1 << 32)) >> 33).to(tl.int32), mask=mask)


@pytest.mark.parametrize("known", [(), ("gain",)])
def test_products_of_fixed_point(run, known):
    edges = [-32768, -32767, -1, 0, 1, 2, 127, 128, 255, 256, 16384, 16385, 23170, 32766, 32767]
    a, b = (np.array(each.ravel(), np.int16) for each in np.meshgrid(edges, edges))
    x, y, gain = a.astype(np.int64), b.astype(np.int64), -32768
    halves = [np.minimum((x * y + 0x4000) >> 15, 32767)]
    halves.append(np.clip((x * gain + 0x4000) >> 15, -32768, 32767))
    parts = [np.clip(((x * y + (1 << 20)) >> 21) + 7, -128, 127)]
    parts.append((((x & 255) * 77 + (y & 255) * 150 + 128) >> 8).astype(np.uint8))
    words = [(x * y + 8) >> 4, (x * y + (1 << 32)) >> 33]
    run(
        fixed_kernel,
        a_ptr=a,
        b_ptr=b,
        gain=gain,
        halves_ptr=Expected(np.concatenate(halves).astype(np.int16)),
        bytes_ptr=Expected(np.concatenate([each.astype(np.int8) for each in parts])),
        words_ptr=Expected(np.concatenate(words).astype(np.int32)),
        N=len(a),
        BLOCK=128,
        grid=(2,),
        known=known,
    )


@triton.jit
def weighed_kernel(x_ptr, y_ptr, GAIN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at).to(tl.int32) * GAIN
    y = tl.minimum(tl.maximum((x + 32768) >> 16, -128), 127)
    tl.store(y_ptr + at, y.to(tl.int8))
    y = tl.minimum(tl.maximum((x + 128) >> 8, -100), 100)
    tl.store(y_ptr + BLOCK + at, y.to(tl.int8))
    y = tl.minimum(tl.maximum((x + 4) >> 3, -128), 127)
    tl.store(y_ptr + 2 * BLOCK + at, y.to(tl.int8))


@pytest.mark.parametrize("gain", [77, -50, 127, 257])
@pytest.mark.parametrize("element", [np.uint8, np.int8])
def test_sums_of_bytes_that_are_narrowed_before_they_are_shifted(run, element, gain):
    x = np.arange(256).astype(element)
    total = x.astype(np.int64) * gain
    y = [
        np.clip((total + (1 << count - 1)) >> count, *limits)
        for count, limits in ((16, (-128, 127)), (8, (-100, 100)), (3, (-128, 127)))
    ]
    expected = Expected(np.concatenate(y).astype(np.int8))
    run(weighed_kernel, x_ptr=x, y_ptr=expected, GAIN=gain, BLOCK=256)

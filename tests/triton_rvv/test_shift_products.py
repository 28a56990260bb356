"""Shifts that become products: what is written, and that nothing else comes out."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv.codegen.llvm import assemble, generate
from triton_rvv.codegen.shift_products import with_shift_products
from triton_rvv.targets.target import RVVTarget

X60 = RVVTarget.named("spacemit-x60", 256)
MODULE = """
target triple = "riscv64-unknown-linux-gnu"
define void @f(ptr %x, ptr %y0, ptr %y1, ptr %y2) vscale_range(4,4) "target-cpu"="spacemit-x60" {{
entry:
  %v = load <{width} x i{bits}>, ptr %x
  {lines}
  ret void
}}
"""


def module(*operations: str, width: int = 64, bits: int = 8) -> str:
    """Stores what operations of %v give, such as "lshr {type} %v, 4"."""
    kind, lines = f"<{width} x i{bits}>", list[str]()
    for number, operation in enumerate(operations):
        name, _, by = operation.partition(" ")
        lines.append(f"%r{number} = {name} {kind} %v, splat (i{bits} {by})")
        lines.append(f"store {kind} %r{number}, ptr %y{number}")
    return MODULE.format(width=width, bits=bits, lines="\n  ".join(lines))


def instructions(text: str, target: RVVTarget = X60) -> list[str]:
    """The names of vector instructions but for loads, stores and lengths."""
    names = [line.split()[0] for line in assemble(generate(text, target).llir).splitlines() if line]
    return [name for name in names if name[0] == "v" and name[:4] not in ("vset", "vl2r", "vs2r")]


def test_shifts_become_products():
    products = {"lshr 4": "vmulhu.vx", "shl 3": "vmul.vx"}
    for bits in (8, 16, 32):
        for operation, name in products.items():
            assert instructions(module(operation, width=512 // bits, bits=bits)) == [name]


def test_a_mask_beside_a_shift_is_a_difference():
    assert instructions(module("lshr 4", "and 15")) == ["vmulhu.vx", "vnmsub.vx"]
    assert instructions(module("and 15", "lshr 4")) == ["vmulhu.vx", "vnmsac.vx"]
    numbered = module("lshr 4", "and 15").replace("%r0", "%0").replace("%r1", "%1")
    assert instructions(numbered) == ["vmulhu.vx", "vnmsub.vx"]
    assert instructions(module("and 15")) == ["vand.vi"]
    assert instructions(module("and 15", "lshr 3")) == ["vand.vi", "vmulhu.vx"]
    assert "vand.vi" in instructions(module("and 15", "lshr 4", "add 1")), "%v is needed after it"


def sums(line: str) -> list[str]:
    """The instructions of a sum with %r0, which is %v shifted left by 4, and %w, loaded as well."""
    whole = "%r0 = shl <64 x i8> %v, splat (i8 4)\n  store <64 x i8> %r0"
    loaded = "%w = load <64 x i8>, ptr %y1\n  %r0 = shl <64 x i8> %v, splat (i8 4)"
    text = f"{loaded}\n  %s = {line}\n  store <64 x i8> %s"
    return instructions(module("shl 4").replace(whole, text))


def test_a_shift_and_a_sum_are_one_instruction():
    assert sums("add <64 x i8> %r0, %w") == ["vmacc.vx"]
    assert sums("or disjoint <64 x i8> %w, %r0") == ["vmacc.vx"]
    assert sums("sub <64 x i8> %w, %r0") == ["vnmsac.vx"]
    assert sums("sub <64 x i8> %r0, %w") == ["vmul.vx", "vsub.vv"]
    assert sums("or disjoint <64 x i8> %v, %w")[-1] == "vmacc.vx"
    assert sums("or <64 x i8> %w, %r0") == ["vmul.vx", "vor.vv"]
    assert "vmacc.vx" not in sums("add <64 x i8> %r0, %r0")


def test_what_gains_nothing_stays():
    average = "%s = add <64 x i8> %v, %v\n  %r0 = lshr <64 x i8> %s"
    signed = "%n = ashr <64 x i8> %r0, splat (i8 4)\n  store <64 x i8> %n"
    widened = "%s = zext <64 x i8> %v to <64 x i16>\n  %r0 = shl <64 x i16> %s, splat (i16 4)"
    added = f"{widened}\n  %n = add <64 x i16> %r0, %s\n  store <64 x i16> %n"
    whole = "%r0 = shl <64 x i8> %v, splat (i8 4)\n  store <64 x i8> %r0"
    narrowed = "%n = trunc <64 x i8> %r0 to <64 x i4>\n  store <64 x i4> %n"
    for text in (
        module("lshr 4", width=8),  # less than a register
        module("lshr 4", width=48),  # no group of registers
        module("lshr 4", width=8, bits=64),  # whose products take longer
        module("lshr 1").replace("%r0 = lshr <64 x i8> %v", average),
        module("ashr 4"),
        module("shl 4").replace("store <64 x i8> %r0", signed),
        module("lshr 4").replace("store <64 x i8> %r0", narrowed),
        module("shl 4").replace(whole, added),
    ):
        assert with_shift_products(text, 256) == text
    alone = module("shl 4").replace(whole, f"{widened}\n  store <64 x i16> %r0")
    assert "vmul" in with_shift_products(alone, 256)
    other = RVVTarget.named("spacemit-x60", 256, "a100")
    assert instructions(module("lshr 4"), other) == ["vsrl.vi"]


@triton.jit
def shift_kernel(a_ptr, left_ptr, right_ptr, low_ptr, PLACES: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + lanes)
    tl.store(left_ptr + lanes, a << PLACES)
    tl.store(right_ptr + lanes, a >> PLACES)
    tl.store(low_ptr + lanes, a & ((1 << PLACES) - 1))


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_numbers_are_the_same(run, name):
    dtype, block = np.dtype(name), 256
    random = np.random.default_rng(1)
    a = random.integers(-(1 << 31), 1 << 31, block).astype(dtype)
    a[:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
    for places in (1, 4):
        run(
            shift_kernel,
            core="spacemit-x60",
            a_ptr=a,
            left_ptr=Expected(a << dtype.type(places)),
            right_ptr=Expected(a >> dtype.type(places)),
            low_ptr=Expected((a.astype(np.int64) & ((1 << places) - 1)).astype(dtype)),
            PLACES=places,
            BLOCK=block,
        )

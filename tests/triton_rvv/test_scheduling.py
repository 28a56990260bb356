"""Which kernels LLVM's scheduler puts in order."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest
import triton
import triton.language as tl

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.codegen.assembler import assemble_object
from triton_rvv.codegen.llvm import assemble
from triton_rvv.codegen.loop_estimate import estimated_cycles
from triton_rvv.codegen.vector_code import Reload, Vector, stretches
from triton_rvv.lowering import SCHEDULED_BY_LLVM
from triton_rvv.targets.host_target import host_target

pytestmark = pytest.mark.usefixtures("faster_order")


@triton.jit
def polynomial_kernel(x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(x_ptr + at, ((x * 3 + 1) * x + 2) * x + 5)


@triton.jit
def product_kernel(x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(x_ptr + at, tl.dot(x, x))


@triton.jit
def sigmoid_kernel(x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(x_ptr + at, x / (1 + tl.exp(-x)))


@triton.jit
def quotients_kernel(x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    y = tl.load(x_ptr + N + at)
    z = tl.load(x_ptr + 2 * N + at)
    w = tl.load(x_ptr + 3 * N + at)
    tl.store(x_ptr + at, w - z / (tl.sqrt(x * x + y) + 1))


@triton.jit
def many_values_kernel(x_ptr, N: tl.constexpr, COUNT: tl.constexpr = 24):
    at = tl.arange(0, N)
    first = tl.load(x_ptr + at)
    product = first
    for number in tl.static_range(1, COUNT):
        product = product * tl.load(x_ptr + number * N + at) + first
    for number in tl.static_range(1, COUNT):
        product = product * tl.load(x_ptr + number * N + at) + first
    tl.store(x_ptr + at, product)


def compiled(kernel, n, target):
    return compile_kernel(kernel, {"x_ptr": "*fp32"}, {"N": n}, target)


def test_products_keep_their_order():
    target = RVVTarget.named("x60")
    product, polynomial = (
        compiled(product_kernel, 16, target),
        compiled(polynomial_kernel, 64, target),
    )
    assert SCHEDULED_BY_LLVM in polynomial.llir
    assert SCHEDULED_BY_LLVM not in product.llir
    assert SCHEDULED_BY_LLVM not in compiled(polynomial_kernel, 64, host_target()).llir
    # The option holds for a whole process: each module gets its own, whatever came before it.
    first = assemble(polynomial.llir)
    assert assemble(polynomial.llir.replace(SCHEDULED_BY_LLVM, "")) != first
    assert assemble(polynomial.llir) == first


def test_the_direction_is_the_faster_one_by_estimate():
    target = RVVTarget.named("x60")
    chains, loads = (compiled(k, 1024, target) for k in (sigmoid_kernel, quotients_kernel))
    assert f'"{SCHEDULED_BY_LLVM}"="topdown"' in chains.llir
    assert f'"{SCHEDULED_BY_LLVM}"="bidirectional"' in loads.llir
    assert compiled(quotients_kernel, 1024, target).object == loads.object


@triton.jit
def rim_kernel(x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    most = tl.load(x_ptr + at)
    for distance in tl.static_range(1, 6):
        inside = (at >= distance) & (at < N - 2 * distance)
        most = tl.maximum(most, tl.load(x_ptr + at - distance, mask=inside, other=0.0))
        most = tl.maximum(most, tl.load(x_ptr + at + 2 * distance, mask=inside, other=0.0))
    tl.store(x_ptr + 2 * N + at, most)


def test_straight_code_that_saves_registers_counts():
    target = RVVTarget.named("x60")
    rim = compiled(rim_kernel, 128, target)
    assert f'"{SCHEDULED_BY_LLVM}"="bidirectional"' in rim.llir
    # Without loops, all of it counts; where nothing is gained, the order from the top stays.
    for block, order in ((32, "bidirectional"), (1, "topdown")):
        few = compiled(polynomial_kernel, block, target)
        assert f'"{SCHEDULED_BY_LLVM}"="{order}"' in few.llir


LOOP = """\
.option arch, rv64gcv_zvl256b
first:
\tvsetivli\tzero, 8, e32, m1, ta, ma
{}
\tbnez\ta0, first
"""
TWO_CHAINS = [f"\tvfadd.vv\tv{r}, v{r}, v1" for r in (8, 9)]
# As code saves a register: the address is computed right before.
SAVE = "\tli\ta2, 800\n\tsh3add\ta2, a2, sp\n\tvs1r.v\tv1, (a2)\n\tvfadd.vv"


def estimated(assembly):
    compiled = assemble_object(assembly)
    sections = llvm.ObjectFileRef.from_data(compiled).sections()
    return estimated_cycles(b"".join(bytes(each.data()) for each in sections if each.is_text()))


def test_estimates_count_waits_and_saved_registers():
    apart = LOOP.format("\n".join([TWO_CHAINS[0]] * 4 + [TWO_CHAINS[1]] * 4))
    in_turn = LOOP.format("\n".join(TWO_CHAINS * 4))
    assert estimated(in_turn).cycles < 0.7 * estimated(apart).cycles
    assert estimated(in_turn).least == estimated(apart).least == 8
    saved = estimated(in_turn.replace("\tvfadd.vv", SAVE).replace("gcv", "gcv_zba"))
    assert saved.cycles > estimated(in_turn).cycles
    assert saved.least < 16  # loads of an array would take memory for 56
    assert not saved.saves_between
    spared = saved.without_saves()
    assert saved.saves
    assert not spared.saves
    assert estimated(in_turn).cycles <= spared.cycles < saved.cycles
    # An integer that was saved, read back for an instruction.
    reloading = estimated(in_turn.replace("\tvfadd.vv", "\tld\ta3, 16(sp)\n\tvfadd.vv"))
    assert reloading.without_saves().cycles == estimated(in_turn).cycles < reloading.cycles
    once = LOOP.replace("\tbnez\ta0, first\n", "").replace("gcv", "gcv_zba")
    straight = estimated(once.format(f"{SAVE} v1, v1, v1"))
    assert straight.saves_between
    assert straight.cycles == 0 < straight.of_all[0]
    assert estimated(in_turn.replace("\tbnez\ta0", "\tj\tafter #") + "after:").cycles == 0


# An instruction, and what is to be read of it: group, registers read and written, a mask.
READ = {
    "vfmacc.vv v8, v16, v24": (4, {8, 16, 24}, {8}, False),
    "vfwmaccbf16.vv v8, v16, v24": (4, {8, 16, 24}, {8}, False),
    "vfmul.vf v8, v16, fa0, v0.t": (4, {16, 0}, {8}, True),
    "vmerge.vvm v8, v16, v24, v0": (4, {16, 24, 0}, {8}, False),
    "vmv.v.i v8, 1": (4, set(), {8}, False),
    "vmv2r.v v8, v16": (2, {16}, {8}, False),
    "vfmv.f.s fa0, v8": (4, {8}, set(), False),
    "vfcvt.x.f.v v8, v16": (4, {16}, {8}, False),
    "vsext.vf2 v8, v16": (4, {16}, {8}, False),
    "vle32.v v8, (a0), v0.t": (4, {0}, {8}, True),
    "vl2re32.v v8, (a0)": (2, set(), {8}, False),
    "vluxei32.v v8, (a0), v16": (4, {16}, {8}, False),
    "vsse32.v v8, (a0), a1": (4, {8}, set(), False),
}


def test_vector_instructions_are_read():
    lines = ["vsetvli zero, zero, e32, m4, ta, ma", *READ, "flw fa0, 0(a0)", "fsd fa0, 8(sp)"]
    compiled = assemble_object(LOOP.format("\n".join(lines)).replace("gcv", "gcv_zvfbfwma"))
    sections = llvm.ObjectFileRef.from_data(compiled).sections()
    (code,) = (bytes(each.data()) for each in sections if each.is_text() and each.size())
    (loop,) = (part for is_loop, part in stretches(code) if is_loop)
    assert [each is None for each in loop] == [True] * 2 + [False] * len(READ) + [True] * 3
    found = [
        (v.group, set(v.read), set(v.written), v.is_masked) for v in loop if isinstance(v, Vector)
    ]
    assert dict(zip(READ, found, strict=True)) == READ


def test_lengths_that_go_through_registers_are_waited_for():
    by_register = ["vsetvli a1, zero, e8, m1, ta, ma", "vsetvli zero, a1, e32, m4, ta, ma"]
    kept = ["vsetvli zero, zero, e8, m1, ta, ma", "vsetivli zero, 8, e32, m4, ta, ma"]
    waits, goes_on = (estimated(LOOP.format("\n".join(lines))) for lines in (by_register, kept))
    assert waits.cycles == goes_on.cycles + 6
    assert waits.least < goes_on.least  # another order may do without them


def test_reloads_of_integers_are_read():
    loads = ["ld a1, 8(sp)", "ld t1, 600(sp)", "ld a1, 8(a0)", "lw a1, 8(sp)", "sd a1, 8(sp)"]
    compiled = assemble_object(LOOP.format("\n".join(loads)))
    sections = llvm.ObjectFileRef.from_data(compiled).sections()
    (code,) = (bytes(each.data()) for each in sections if each.is_text() and each.size())
    (loop,) = (part for is_loop, part in stretches(code) if is_loop)
    assert [isinstance(each, Reload) for each in loop[:6]] == [False, True, True, *[False] * 3]
    elsewhere = [line.replace("sp", "a0") for line in loads]
    saved, others = (estimated(LOOP.format("\n".join(each))) for each in (loads, elsewhere))
    assert saved.cycles == others.cycles + 2 * 3
    assert saved.least < others.least


def test_saved_registers_are_found_in_code():
    target = RVVTarget.named("x60")
    kernel = compiled(many_values_kernel, 256, target)
    saves = kernel.commented_assembly.count("vscale x")  # each with a comment of its own
    sections = llvm.ObjectFileRef.from_data(kernel.object).sections()
    (code,) = (bytes(each.data()) for each in sections if each.is_text() and each.size())
    found = [
        v for is_loop, part in stretches(code) for v in part if is_loop and isinstance(v, Vector)
    ]
    assert 0 < sum(each.is_save for each in found) <= saves

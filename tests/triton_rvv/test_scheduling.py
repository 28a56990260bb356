"""Which kernels LLVM's scheduler puts in order."""

from __future__ import annotations

import triton
import triton.language as tl

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.codegen import assemble
from triton_rvv.host_target import host_target
from triton_rvv.loop_estimate import estimated_cycles
from triton_rvv.lowering import SCHEDULED_BY_LLVM


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


LOOP = """\
.LBB0_1:
\tvsetivli\tzero, 8, e32, m1, ta, ma
{}
\tbnez\ta0, .LBB0_1
"""
TWO_CHAINS = [f"\tvfadd.vv\tv{r}, v{r}, v1" for r in (8, 9)]


def test_estimates_count_waits_and_saved_registers():
    apart = LOOP.format("\n".join([TWO_CHAINS[0]] * 4 + [TWO_CHAINS[1]] * 4))
    in_turn = LOOP.format("\n".join(TWO_CHAINS * 4))
    save = "\tvs1r.v\tv1, (a1)    # vscale x 8-byte Folded Spill\n\tvfadd.vv"
    assert estimated_cycles(in_turn) < 0.7 * estimated_cycles(apart)
    assert estimated_cycles(in_turn.replace("\tvfadd.vv", save)) > estimated_cycles(in_turn)
    assert estimated_cycles(in_turn.replace("\tbnez", "\tj\t.LBB0_2 #")) == 0

"""Which kernels LLVM's scheduler puts in order."""

from __future__ import annotations

import triton
import triton.language as tl

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.codegen import assemble
from triton_rvv.host_target import host_target
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

"""Names of `triton.language.extra` that programs for GPUs use, on a CPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import triton
import triton.language as tl
from qemu_kernels import Expected
from triton.language.extra.cuda import gdc_wait, globaltimer, num_warps
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.language.extra.cuda.libdevice import erf
from triton.language.extra.hip import libdevice as hip_libdevice

from triton_rvv import CompileError, RVVTarget, compile_kernel
from triton_rvv.targets.host_target import host_target


@triton.jit
def mathematics_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, cuda_libdevice.erf(x))
    tl.store(out_ptr + N + at, hip_libdevice.erf(x))
    tl.store(out_ptr + 2 * N + at, tl.extra.cuda.libdevice.erf(x))
    tl.store(out_ptr + 3 * N + at, tl.extra.libdevice.erf(x))
    tl.store(out_ptr + 4 * N + at, erf(x))
    tl.store(out_ptr + 5 * N + at, tl.math.erf(x))


def test_every_libdevice_has_the_same_functions(run):
    x = np.linspace(-2, 2, 16, dtype=np.float32)
    exact = np.array([scipy.special.erf(x)] * 6, np.float32)
    run(mathematics_kernel, x_ptr=x, out_ptr=Expected(exact, rtol=2e-7), N=16)


@triton.jit
def machine_kernel(x_ptr, waited_ptr, core_ptr):
    gdc_wait()
    start = globaltimer()
    total = 0
    for i in range(1000):
        total += tl.load(x_ptr + i % 2)
    tl.extra.cuda.gdc_launch_dependents()
    waited = tl.extra.cuda.globaltimer() - start
    tl.store(waited_ptr, (waited > 0) & (waited < 10_000_000_000) & (start > 0))
    tl.store(core_ptr, (tl.extra.cuda.smid() >= 0) & (total == 1500))
    tl.store(core_ptr + 1, num_warps())


def test_the_time_the_core_and_kernels_one_after_another(run):
    x = np.array([1, 2], np.int32)
    waited, core = np.array([1], np.int32), np.array([1, 1], np.int32)
    run(machine_kernel, x_ptr=x, waited_ptr=Expected(waited), core_ptr=Expected(core))


@triton.jit
def assembly_kernel(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, tl.inline_asm_elementwise("nop", "=r,r", [x], tl.int32, is_pure=True, pack=1))


def test_inline_assembly_is_refused_in_the_same_words_everywhere():
    problems = []
    for target in (RVVTarget(), host_target()):
        with pytest.raises(CompileError) as found:
            compile_kernel(assembly_kernel, {"x_ptr": "*i32"}, {}, target)
        problems.append(str(found.value))
    assert problems[0] == problems[1]
    assert "tl.inline_asm_elementwise is not supported: it is written for one proc" in problems[0]

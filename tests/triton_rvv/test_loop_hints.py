"""What a kernel says of its loops: the results are the same, and LLVM is told what concerns it."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel


@triton.jit
def hinted_kernel(out_ptr, n, HINTED: tl.constexpr):
    total = 0
    for i in tl.range(
        0,
        n,
        num_stages=3,
        loop_unroll_factor=2 if HINTED else 1,
        disallow_acc_multi_buffer=HINTED,
        flatten=HINTED,
        warp_specialize=HINTED,
        disable_licm=HINTED,
    ):
        total += i * n
    turn = 0
    while tl.condition(turn < n, disable_licm=HINTED):
        turn += 1
        total += turn
    tl.store(out_ptr, total)


@pytest.mark.parametrize("n", in_turn([0, 7, 1], turns=2))
def test_hints_change_no_result(run, n):
    total = sum(i * n for i in range(n)) + n * (n + 1) // 2
    run(hinted_kernel, out_ptr=Expected(np.array([total], np.int32)), n=n, HINTED=True)


@pytest.mark.parametrize("source_lines", [False, True])
def test_only_loops_that_ask_for_it_are_kept_from_licm(source_lines):
    def llir(hinted):
        signature, constants = {"out_ptr": "*i32", "n": "i32"}, {"HINTED": hinted}
        target = RVVTarget()
        compiled = compile_kernel(
            hinted_kernel, signature, constants, target, source_lines=source_lines
        )
        return compiled.llir

    # The unrolled loop, the turns left over, and the other loop.
    assert llir(True).count("!llvm.loop !") == 3
    assert "llvm.licm.disable" in llir(True)
    assert "llvm.licm.disable" not in llir(False)

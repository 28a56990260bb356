"""Programs whose numbers are in reverse order, as IR has them."""

from __future__ import annotations

import triton
import triton.language as tl

from kernels.own.reversed_programs import reversed_programs
from triton_rvv.make_ttir import make_ttir
from triton_rvv.targets.target_names import named_target


@triton.jit
def numbers_kernel(x):
    tl.store(x + tl.program_id(1), 1.0)


def ttir():
    kernel = triton.jit(numbers_kernel.fn)
    return make_ttir(kernel, {"x": "*fp32"}, {}, frozenset(), named_target("host"))


def test_numbers_count_from_the_last_within_the_block_alone():
    with reversed_programs():
        text = ttir()
    assert '"tt.get_num_programs"() <{axis = 1 : i32}>' in text
    assert text.count("arith.subi") == 2
    assert "arith.subi" not in ttir()

"""What no quotient of a line of indices exceeds, as the code computes it before it trusts that."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import pytest

from triton_rvv.frontend.types import TensorType, parse_type
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import Component
from triton_rvv.lowering.addresses.div_mod import quotient_bound
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import integer

ANYTHING = 1 << 31  # what wraps may be any number of 32 bits


def computed(base: int, stride: int, divisor: int) -> int:
    """The bound for 32 elements, by the code on this machine."""
    builder = Builder()
    type_ = parse_type("tensor<32xi32>")
    assert isinstance(type_, TensorType)
    line = Affine(type_, integer(base, "i32"), [Component(integer(stride, "i32"))])
    bound = quotient_bound(builder, line, integer(divisor))
    lines = [*sorted(builder.declarations), "define i64 @bound() {", *map(str, builder.lines)]
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("\n".join([*lines, f"ret {bound}", "}"]))
    machine = llvm.Target.from_default_triple().create_target_machine()
    with llvm.create_mcjit_compiler(module, machine) as compiled:
        compiled.finalize_object()
        function = ctypes.CFUNCTYPE(ctypes.c_int64)(compiled.get_function_address("bound"))
        return int(function())


@pytest.mark.parametrize(
    ("base", "stride", "divisor", "bound"),
    [
        (0, 10, 3, 103),
        (100, -10, 3, 70),
        (100, -10, 0, 210),  # where the program divides by 0, its quotients are not asked for
        (0, 1 << 26, 3, (31 << 26) // 3),
        (0, 1 << 27, 3, ANYTHING),
        (5, -(1 << 27), 3, ANYTHING),
        ((1 << 31) - 31, 1, 1, ANYTHING),
        ((1 << 31) - 32, 1, 1, (1 << 31) - 1),
    ],
)
def test_a_line_that_may_wrap_has_no_bound(base, stride, divisor, bound) -> None:
    assert computed(base, stride, divisor) == bound

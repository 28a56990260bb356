"""Operations on what a condition chooses from two numbers."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from qemu_kernels import Expected

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.chosen_numbers import choose_results
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.targets.target import RVVTarget

_CHOICE = """
%ones = "arith.constant"() {value = dense<1.0> : tensor<SIZExf32>} : () -> tensor<SIZExf32>
%ps = "tt.splat"(%p) : (f32) -> tensor<SIZExf32>
%chosen = "arith.select"(%c, %ps, %ones) : (TYPES) -> tensor<SIZExf32>
"""
_DIVISION = '%r = "arith.divf"(%ones, %chosen) : (PAIR) -> tensor<SIZExf32>\n'
_SUM = '%r = "arith.addf"(%ones, %chosen) : (PAIR) -> tensor<SIZExf32>\n'
_ROOT = '%s = "math.sqrt"(%r) : (tensor<SIZExf32>) -> tensor<SIZExf32>\n'
_OTHER = _CHOICE.splitlines()[-1].replace("%chosen", "%other") + "\n"
_PLUS_ONE = '%plus = "arith.addf"(%x, %ones) : (PAIR) -> tensor<SIZExf32>\n'
_READ = '%more = "arith.mulf"(%x, %chosen) : (PAIR) -> tensor<SIZExf32>\n'


def _chosen(body: str, size: int = 64) -> tuple[int, list[str]]:
    """How many operations chose from results then, and what was computed, of numbers or blocks."""
    body = body.replace("PAIR", "tensor<SIZExf32>, tensor<SIZExf32>")
    body = body.replace("TYPES", "tensor<SIZExi1>, tensor<SIZExf32>, tensor<SIZExf32>")
    arguments = "%x: tensor<SIZExf32>, %c: tensor<SIZExi1>, %p: f32"
    module = parse_module(function(body, arguments).replace("SIZE", str(size)))
    fired = choose_results(Kernel(module, RVVTarget(), True))
    return fired, [
        f"{each.name} of a block" if isinstance(each.result.type, TensorType) else each.name
        for each in module.walk()
        if each.results and each.name not in ("arith.constant", "tt.splat", "arith.select")
    ]


@pytest.mark.parametrize(
    ("body", "computed"),
    [
        (_CHOICE + _DIVISION, ["arith.divf"] * 2),
        (_CHOICE + _DIVISION + _READ, ["arith.divf"] * 2 + ["arith.mulf of a block"]),
        (_CHOICE + _DIVISION.replace("%ones, %ch", "%chosen, %ch"), ["arith.divf"] * 2),
        (_CHOICE + _SUM + _ROOT, ["arith.addf"] * 2 + ["math.sqrt"] * 2),
    ],
)
def test_numbers_are_computed_once(body, computed):
    fired, names = _chosen(body)
    assert (2 * fired, names) == (sum("block" not in name for name in computed), computed)


def test_a_block_is_divided_by_each_number():
    fired, names = _chosen(_CHOICE + _DIVISION.replace("%ones, %ch", "%x, %ch"))
    assert (fired, names) == (1, ["arith.divf of a block"] * 2)


@pytest.mark.parametrize(
    ("body", "size"),
    [
        (_CHOICE + _DIVISION, 32),  # two numbers take as long
        (_CHOICE + _DIVISION.replace("%ones, %ch", "%x, %ch"), 32),
        (_CHOICE + _DIVISION.replace("%ones, %ch", "%x, %ch").replace("divf", "mulf"), 64),
        (_CHOICE.replace("(%c, %ps, %ones)", "(%c, %x, %ones)") + _DIVISION, 64),
        (_CHOICE + _OTHER + _SUM.replace("%ones, %ch", "%other, %ch"), 64),
        (_CHOICE + _PLUS_ONE + _DIVISION.replace("%chosen", "%plus"), 64),
        (_CHOICE + _SUM + _READ, 64),  # the choice is made in any case
    ],
)
def test_other_choices_are_left(body, size):
    assert _chosen(body, size)[0] == 0


@triton.jit
def _penalize(x_ptr, seen_ptr, penalty_ptr, y_ptr, quotient_ptr, N, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + row * N + at, mask=mask)
    seen = tl.load(seen_ptr + row * N + at, mask=mask) != 0
    penalty = tl.where(seen, tl.load(penalty_ptr + row), 1.0)
    x *= tl.where(x > 0, 1.0 / penalty, tl.exp(penalty - 2.0))
    tl.store(y_ptr + row * N + at, x, mask=mask)
    tl.store(quotient_ptr + row * N + at, x / penalty, mask=mask)


def test_choices_of_any_numbers(run):
    """Also of numbers whose reciprocal or exponential is none."""
    penalties = np.array([1.5, -0.25, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40], np.float32)
    random = np.random.default_rng(3)
    x = random.normal(size=(len(penalties), 77)).astype(np.float32)
    seen = random.integers(0, 2, x.shape, dtype=np.int32)
    with np.errstate(all="ignore"):
        penalty = np.where(seen, penalties[:, None], np.float32(1))
        y = x * np.where(x > 0, 1 / penalty, np.exp(penalty - 2))
        quotient = y / penalty
    run(
        _penalize,
        grid=(len(x),),
        x_ptr=x,
        seen_ptr=seen,
        penalty_ptr=penalties,
        y_ptr=Expected(y, rtol=1e-5),
        quotient_ptr=Expected(quotient, rtol=1e-5),
        N=x.shape[1],
        BLOCK=128,
    )

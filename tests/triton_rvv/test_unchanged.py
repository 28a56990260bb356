"""Quotients and roots that a loop does not change are computed before it."""

from __future__ import annotations

import re

import pytest
from ir_text import function

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering import lower_module
from triton_rvv.lowering.llvm.unchanged import taken_out
from triton_rvv.targets.target import RVVTarget

ARGUMENTS = "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32"

# Each element of y becomes that of x over DIVISOR, in a loop over vectors.
QUOTIENTS = """
%at = "tt.make_range"() {end = 4096, start = 0} : () -> tensor<4096xi32>
%number = "arith.sitofp"(%n) : (i32) -> f32
%numbers = "tt.splat"(%number) : (f32) -> tensor<4096xf32>
%places = "arith.sitofp"(%at) : (tensor<4096xi32>) -> tensor<4096xf32>
%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<4096x!tt.ptr<f32>>
%p = "tt.addptr"(%xs, %at) : (tensor<4096x!tt.ptr<f32>>, tensor<4096xi32>) -> tensor<4096x!tt.ptr<f32>>
%v = "tt.load"(%p) : (tensor<4096x!tt.ptr<f32>>) -> tensor<4096xf32>
%q = "arith.divf"(%v, DIVISOR) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
%ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<4096x!tt.ptr<f32>>
%o = "tt.addptr"(%ys, %at) : (tensor<4096x!tt.ptr<f32>>, tensor<4096xi32>) -> tensor<4096x!tt.ptr<f32>>
"tt.store"(%o, %q) : (tensor<4096x!tt.ptr<f32>>, tensor<4096xf32>) -> ()
"""  # noqa: E501

# The same in each turn of a loop, over the turn's number.
TURNS = (
    """
%0 = "arith.constant"() {value = 0} : () -> i32
%1 = "arith.constant"() {value = 1} : () -> i32
"scf.for"(%0, %n, %1) ({
^bb0(%turn: i32):
"""
    + QUOTIENTS.replace("%n)", "%turn)")
    + """
"scf.yield"() : () -> ()
}) : (i32, i32, i32) -> ()
"""
)


def loops_around_quotient(body: str, skipped: str = "") -> tuple[int, int]:
    """How many loops are around a kernel's last scalar division, and how often the rule holds."""
    lowered = lower_module(
        parse_module(function(body, ARGUMENTS)),
        RVVTarget(),
        disjoint_arguments=True,
        skipped_passes=[skipped],
    )
    before, _, behind = lowered.llir.rpartition(" = fdiv float ")
    heads = re.findall(r"^(head\d+):", before, re.MULTILINE)
    depth = sum(f"br label %{head}" in behind for head in heads)
    return depth, {each.name: each.count for each in lowered.passes}["divide-once"]


@pytest.mark.parametrize(
    ("body", "skipped", "expected"),
    [
        (QUOTIENTS, "", (0, 1)),
        (QUOTIENTS, "divide-once", (1, 0)),
        (TURNS, "", (1, 1)),
        (TURNS, "divide-once", (2, 0)),
    ],
)
def test_a_number_is_inverted_before_the_loops_that_do_not_change_it(body, skipped, expected):
    assert loops_around_quotient(body.replace("DIVISOR", "%numbers"), skipped) == expected


def test_numbers_of_lanes_are_left_where_they_are():
    module = parse_module(function(QUOTIENTS.replace("DIVISOR", "%places"), ARGUMENTS))
    lowered = lower_module(module, RVVTarget())
    assert {each.name: each.count for each in lowered.passes}["divide-once"] == 0


TURN = """
  %c = icmp slt i64 %i, %n
  br i1 %c, label %body, label %done
body:
  %e = and i32 %bits, 2139095040
  %s = bitcast i32 %e to float
  %a = call float @llvm.fabs.f32(float %d), !dbg !4
  %b = fmul float %a, %s
  %r = fdiv contract float 1.000000e+00, %b, !dbg !4
  %m = fmul float %r, %k
  %w = insertelement <4 x float> poison, float %m, i64 0
  %f = sitofp i64 %i to float
  %t = call float @llvm.sqrt.f32(float %f)
  %u = fadd float %t, %r
  %g = add i32 %bits, 7
  %h = sdiv i32 %bits, %z
  %j = add i64 %i, 1
"""


def test_all_that_a_quotient_is_made_of_goes_with_it():
    out, left = taken_out(TURN.splitlines(), "%i")
    assert [line.split()[0] for line in out] == ["%e", "%s", "%a", "%b", "%r", "%m"]
    assert out + left == sorted(TURN.splitlines(), key=lambda line: line not in out)


def test_a_turn_without_quotients_stays_as_it_is():
    turn = [line for line in TURN.splitlines() if "fdiv" not in line]
    assert taken_out(turn, "%i") == ([], turn)


def test_quotients_of_integers_stay_since_they_may_be_by_zero():
    turn = TURN.replace("%bits, 2139095040", "%h, 1").splitlines()
    moved = ["  %h = sdiv i32 %bits, %z", *(line for line in turn if "sdiv" not in line)]
    assert taken_out(moved, "%i") == ([], moved)

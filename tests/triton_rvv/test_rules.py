"""The rules by which code is written: each is counted, noted, and can be left out."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from qemu_kernels import Expected, KernelRunner

from triton_rvv.frontend.ttir import Operation, parse_module
from triton_rvv.frontend.ttir_printer import print_ir
from triton_rvv.lowering import PASSES, RULES, WRITTEN, Fired, lower_module
from triton_rvv.lowering.llvm import rules
from triton_rvv.lowering.llvm.rules import CODE, Choices, no, rule
from triton_rvv.targets.target import RVVTarget

# Every element of y becomes the one of x whose place is divided by %n, or the remainder.
LINE = """
%at = "tt.make_range"() {end = 512, start = 0} : () -> tensor<512xi32>
%ns = "tt.splat"(%n) : (i32) -> tensor<512xi32>
%q = "arith.divsi"(%at, %ns) : (tensor<512xi32>, tensor<512xi32>) -> tensor<512xi32>
%r = "arith.remsi"(%at, %ns) : (tensor<512xi32>, tensor<512xi32>) -> tensor<512xi32>
%place = "arith.addi"(%q, %r) : (tensor<512xi32>, tensor<512xi32>) -> tensor<512xi32>
%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<512x!tt.ptr<f32>>
%p = "tt.addptr"(%xs, %place) : (tensor<512x!tt.ptr<f32>>, tensor<512xi32>) -> tensor<512x!tt.ptr<f32>>
%v = "tt.load"(%p) : (tensor<512x!tt.ptr<f32>>) -> tensor<512xf32>
%ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<512x!tt.ptr<f32>>
%o = "tt.addptr"(%ys, %at) : (tensor<512x!tt.ptr<f32>>, tensor<512xi32>) -> tensor<512x!tt.ptr<f32>>
"tt.store"(%o, %v) : (tensor<512x!tt.ptr<f32>>, tensor<512xf32>) -> ()
"""  # noqa: E501


def written(
    skipped: Collection[str] = (), body: str = LINE
) -> tuple[str, dict[str, int], Operation]:
    """LLVM's IR of a kernel, the count of each pass and rule, and the IR behind them all."""
    module, seen = parse_module(function(body)), list[Fired]()
    lowered = lower_module(
        module, RVVTarget(), watch=lambda fired, _: seen.append(fired), skipped_passes=skipped
    )
    assert seen[-1].name == WRITTEN
    return lowered.llir, {each.name: each.count for each in lowered.passes}, module


def code_of(module: Operation, name: str) -> dict[str, str]:
    (found,) = (each for each in module.walk() if each.name == name)
    noted = found.attributes[CODE]
    assert isinstance(noted, dict)
    return {kind: str(text) for kind, text in noted.items()}


def test_every_rule_is_named_once_and_says_what_it_does():
    names = [*(each.name for each in PASSES), *(each.name for each in RULES)]
    assert len(set(names)) == len(names)
    says = [*(each.says for each in PASSES), *(each.says for each in RULES)]
    assert all(each.endswith(".") for each in says)


def test_a_rule_is_counted_and_can_be_left_out():
    llir, counts, _ = written()
    assert counts["follow-quotients"] == 2
    assert counts["walk-segments"] == 1
    without, counts, module = written(["follow-quotients"])
    assert counts["follow-quotients"] == counts["walk-segments"] == 0
    assert without != llir
    assert "one by one" not in code_of(module, "tt.store")["loads"]
    assert "gathered" in code_of(module, "tt.store")["loads"]


def test_a_rule_can_be_left_out_of_code_that_watches_accesses():
    for skipped, count in (([], 2), (["follow-quotients"], 0)):
        module = parse_module(function(LINE))
        lowered = lower_module(module, RVVTarget(), watches_accesses=True, skipped_passes=skipped)
        assert {each.name: each.count for each in lowered.passes}["follow-quotients"] == count


def test_how_code_is_written_is_noted_beside_operations():
    _, _, module = written()
    assert code_of(module, "arith.divsi") == {"rules": "follow-quotients"}
    noted = code_of(module, "tt.store")
    assert noted["stores"] == "contiguous"
    assert "%p contiguous" in noted["loads"]
    assert "walk-segments" in noted["rules"]
    assert "1 x 32 lanes, fewer at the end, plain" in noted["walks"]
    assert f'loads = "{noted["loads"]}"' in print_ir(module)


def test_nothing_is_noted_without_a_watch():
    module = parse_module(function(LINE))
    counts = {each.name: each.count for each in lower_module(module, RVVTarget()).passes}
    assert counts["follow-quotients"] == 2
    assert all(CODE not in each.attributes for each in module.walk())


def test_a_function_that_is_a_rule():
    class Asked:
        choices = Choices(["span-rows"])

    @rule("span-rows", no)
    def skipped(asked: Asked) -> bool:
        raise AssertionError("is asked although it is skipped")

    @rule("load-early", no)
    def followed(asked: Asked, holds: bool) -> bool:
        return holds

    asked = Asked()
    assert not skipped(asked)
    asked.choices.operation = next(iter(parse_module(function(LINE)).walk()))
    assert not followed(asked, False)
    assert asked.choices.counts()["load-early"] == 0
    assert followed(asked, True)
    assert asked.choices.counts()["load-early"] == 1


@triton.jit
def every_kernel(x_ptr, w_ptr, y_ptr, z_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    at = rows[:, None] * n + cols[None, :] % n
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    scale = 1 / tl.sqrt(tl.sum(x * x, axis=1) + 1)
    tl.store(y_ptr + at, x * scale[:, None], mask=mask)
    w = tl.load(w_ptr + (cols // 4)[:, None] * 8 + tl.arange(0, 8)[None, :])
    z = tl.dot(x, w, input_precision="ieee")
    tl.store(z_ptr + rows[:, None] * 8 + tl.arange(0, 8)[None, :], z, mask=rows[:, None] < m)


@pytest.mark.parametrize("followed", [(), RULES], ids=["no rules", "all rules"])
def test_code_is_right_without_any_rule(followed, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(rules, "RULES", followed)
    x = np.random.default_rng(0).integers(-3, 4, (13, 50)).astype(np.float32)
    w = np.random.default_rng(1).integers(-3, 4, (16, 8)).astype(np.float32)
    wide = np.zeros((13, 64), np.float32)
    wide[:, :50] = x
    y = x / np.sqrt((x * x).sum(1, keepdims=True) + 1)
    KernelRunner(tmp_path)(
        every_kernel,
        x_ptr=x,
        w_ptr=w,
        y_ptr=Expected(y, rtol=1e-5),
        z_ptr=Expected(wide @ np.repeat(w, 4, axis=0)),
        m=13, n=50, M=16, N=64,
    )  # fmt: skip


# A running sum of a row, and a scan of maps a x + b, of which no pair of numbers is known to change
# none.
SCANS = """
%at = "tt.make_range"() {end = 512, start = 0} : () -> tensor<512xi32>
%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<512x!tt.ptr<f32>>
%p = "tt.addptr"(%xs, %at) : (tensor<512x!tt.ptr<f32>>, tensor<512xi32>) -> tensor<512x!tt.ptr<f32>>
%v = "tt.load"(%p) : (tensor<512x!tt.ptr<f32>>) -> tensor<512xf32>
SCAN
%ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<512x!tt.ptr<f32>>
%o = "tt.addptr"(%ys, %at) : (tensor<512x!tt.ptr<f32>>, tensor<512xi32>) -> tensor<512x!tt.ptr<f32>>
"tt.store"(%o, %s) : (tensor<512x!tt.ptr<f32>>, tensor<512xf32>) -> ()
"""
SUM = """%s = "tt.scan"(%v) <{axis = 0 : i32, reverse = false}> ({
^bb0(%a: f32, %b: f32):
  %c = "arith.addf"(%a, %b) : (f32, f32) -> f32
  "tt.scan.return"(%c) : (f32) -> ()
}) : (tensor<512xf32>) -> tensor<512xf32>"""
MAPS = """%s, %t = "tt.scan"(%v, %v) <{axis = 0 : i32, reverse = false}> ({
^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
  %e = "arith.mulf"(%a, %c) : (f32, f32) -> f32
  %f = "arith.mulf"(%b, %c) : (f32, f32) -> f32
  %g = "arith.addf"(%f, %d) : (f32, f32) -> f32
  "tt.scan.return"(%e, %g) : (f32, f32) -> ()
}) : (tensor<512xf32>, tensor<512xf32>) -> (tensor<512xf32>, tensor<512xf32>)"""


@pytest.mark.parametrize(
    ("scan", "skipped", "expected"), [(SUM, [], 1), (SUM, ["fill-moved-lanes"], 0), (MAPS, [], 0)]
)
def test_scans_without_a_choice(scan, skipped, expected):
    """Where a number changes no other, lanes that have none before them hold it."""
    llir, counts, module = written(skipped, SCANS.replace("SCAN", scan))
    assert counts["fill-moved-lanes"] == expected
    assert ("select" in llir) == (not expected)
    assert ("fill-moved-lanes" in code_of(module, "tt.scan").get("rules", "")) == expected


# y = x up to its n-th element, whose place is compared with n.
MASKED = """
%at = "tt.make_range"() {end = 512, start = 0} : () -> tensor<512xi32>
%ns = "tt.splat"(%n) : (i32) -> tensor<512xi32>
%m = "arith.cmpi"(%at, %ns) {predicate = PREDICATE} : (tensor<512xi32>, tensor<512xi32>) -> tensor<512xi1>
%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<512x!tt.ptr<f32>>
%p = "tt.addptr"(%xs, %at) : (tensor<512x!tt.ptr<f32>>, tensor<512xi32>) -> tensor<512x!tt.ptr<f32>>
%v = "tt.load"(%p, %m) : (tensor<512x!tt.ptr<f32>>, tensor<512xi1>) -> tensor<512xf32>
%s = "arith.addf"(%v, %v) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
%ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<512x!tt.ptr<f32>>
%o = "tt.addptr"(%ys, %at) : (tensor<512x!tt.ptr<f32>>, tensor<512xi32>) -> tensor<512x!tt.ptr<f32>>
"tt.store"(%o, %s) : (tensor<512x!tt.ptr<f32>>, tensor<512xf32>) -> ()
"""  # noqa: E501


@pytest.mark.parametrize(
    ("predicate", "counted", "skipped"),
    [("2 : i64", True, []), ("1 : i64", False, []), ("2 : i64", False, ["count-lanes"])],
    ids=["below", "different", "skipped"],
)
def test_lanes_are_counted_where_those_that_a_mask_lets_through_are_neighbours(
    predicate, counted, skipped
):
    skipped = ["end-plain-columns", *skipped]  # so that all vectors have masks
    llir, counts, _ = written(skipped, MASKED.replace("PREDICATE", predicate))
    assert bool(counts["count-lanes"]) == counted
    by_numbers, by_places = (
        bool(re.search(rf"icmp \w+ <\d+ x {element}>", llir)) for element in ("i8", "i32")
    )
    assert (by_numbers, by_places) == (counted, not counted)

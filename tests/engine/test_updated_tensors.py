"""What an autotuner's measurements change in place is given back, and said."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

import engine
import triton_rvv
from engine.programs.captured import summary
from kernels.captured.task_file import read_capture
from triton_rvv.launches.in_place import given_back

CONFIGS = [triton.Config({"BLOCK": block}) for block in (16, 32)]


def measured(call, quantiles):
    """Measures by three launches, whose times are all one second."""
    for _ in range(3):
        call()
    return [1.0] * 3


@triton.jit
def scale_kernel(x, out, count, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    scaled = tl.load(x + at, mask=at < n) * 2
    tl.store(x + at, scaled, mask=at < n)
    tl.store(out + at, scaled, mask=at < n)
    tl.atomic_add(count + at, 1, mask=at < 1)


def results(tmp_path, **decorator):
    triton_rvv.activate("host")
    tuned = triton.autotune(CONFIGS, key=["n"], do_bench=measured, **decorator)(scale_kernel)
    x, out, count = torch.ones(100), torch.zeros(100), torch.zeros(1, dtype=torch.int32)
    with engine.capture(tmp_path / "here"):
        for _ in range(2):
            tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, out, count, 100)
    assert torch.equal(out, x)
    return read_capture(tmp_path / "here"), float(out[0]), int(count[0])


def test_a_kernel_that_updates_its_tensors_computes_as_without_measurements(tmp_path):
    captured, scaled, count = results(tmp_path)
    assert (scaled, count) == (4.0, 2)
    assert captured.updating == {"scale_kernel": ["x", "count"]}
    assert "add restore_value=['x', 'count'] to triton.autotune" in summary(captured, 0, tmp_path)


def test_it_is_said_where_no_memory_is_left_for_copies(tmp_path, monkeypatch):
    def clone(_):
        raise torch.OutOfMemoryError

    monkeypatch.setattr(torch.Tensor, "clone", clone)
    captured, scaled, _ = results(tmp_path)
    assert scaled > 4.0
    assert captured.updating == {"scale_kernel": ["x", "count"]}


def test_expanded_tensors_and_what_lies_between_elements_are_given_back():
    total, matrix = torch.zeros(1), torch.zeros(4, 4)
    with given_back([total.expand(8), matrix[:, :2]]):
        total.fill_(1.0)
        matrix[:3].fill_(1.0)
    assert not total.any()
    assert not matrix.any()


@pytest.mark.parametrize(
    "decorator",
    [
        {"restore_value": ["x"], "reset_to_zero": ["count"]},
        {"pre_hook": lambda arguments, reset_only=False: arguments["x"].fill_(1.0)},
    ],
)
def test_what_the_autotuner_gives_back_itself_is_left_to_it(tmp_path, decorator):
    captured, scaled, _ = results(tmp_path, **decorator)
    assert captured.updating == {}
    assert scaled in (2.0, 4.0)

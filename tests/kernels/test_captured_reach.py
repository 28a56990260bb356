"""What captured kernels read in front of their tensors and behind them."""

from __future__ import annotations

import captured_kernels as kernels
import numpy as np
import pytest
import torch
from captured_launches import add, freedom, launch, memory_of, normal, probe, spec_of

from foundation.config import Config
from foundation.errors import UserError
from kernels.captured.outputs import Output, checked_outputs
from triton_rvv.launches.contents import memory_ranges
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.host_target import host_target


def test_a_kernel_that_masks_only_what_it_stores_gets_a_tail() -> None:
    deployed = launch(kernels.stores_masked_kernel, 16, {"BLOCK": 64}, n=1000)
    found = probe(deployed, memory_of(x=normal(1000), out=torch.zeros(1000)))
    assert found.tail > 0
    assert freedom(found, "BLOCK").varies


def test_a_kernel_that_sums_what_lies_behind_is_refused() -> None:
    deployed = launch(kernels.total_of_block_kernel, 1, {"BLOCK": 64})
    with pytest.raises(UserError, match="reaches outside of its tensors"):
        probe(deployed, memory_of(x=normal(40), out=torch.zeros(1)))


def test_a_kernel_may_read_what_lies_in_front_of_a_slice() -> None:
    """As stencils do. Boards get an array that begins there, and the compiled kernel skips it."""
    deployed = launch(kernels.blurred_kernel, 8, {"BLOCK": 128}, n=1000)
    memory = memory_of(x=normal(1010)[5:1005], out=torch.zeros(1000))
    found = probe(deployed, memory)
    assert found.fronts
    assert freedom(found, "BLOCK").varies
    x, out, _ = spec_of(deployed, memory, found).arguments(None, Config({"BLOCK": 128}))
    assert (x.lead, x.lead_bytes, np.shape(x.value)) == (5, 20, (1010,))
    assert (out.lead, len(out.expected)) == (0, 1000)
    signature = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    compiled = [
        compile_kernel(kernels.blurred_kernel, signature, {"BLOCK": 128}, host_target(), leads=one)
        for one in ({}, {"x": 20})
    ]
    assert ["i64 20" in one.lowered for one in compiled] == [False, True]


def test_an_output_keeps_what_lies_in_front_of_it() -> None:
    whole = Output(None, torch.ones(2), torch.full((2,), 0.5)).behind(torch.tensor([7.0]))
    assert whole.expected.tolist() == [7.0, 1.0, 1.0]
    assert whole.slack is not None
    assert whole.slack.tolist() == [0.0, 0.5, 0.5]
    assert whole.start is not None
    assert whole.start[0] == 7.0
    assert whole.start[1:].isnan().all()


def test_a_kernel_that_reads_in_front_of_its_storage_is_refused() -> None:
    memory = memory_of(x=normal(40)[39:], out=torch.zeros(40))
    assert probe(launch(kernels.stepping_kernel, 1, {"BLOCK": 64}, n=40, step=-1), memory).fronts
    far = launch(kernels.stepping_kernel, 1, {"BLOCK": 64}, n=40, step=-2)
    with pytest.raises(UserError, match=r"of x, .* so far in front of an argument is not capt"):
        probe(far, memory)


def test_a_kernel_that_takes_an_expanded_tensor_for_a_whole_one_is_refused() -> None:
    deployed, _ = add(1000)
    one = memory_of(x=torch.ones(1).expand(1000), y=normal(1000), out=torch.zeros(1000))
    with pytest.raises(UserError, match=r"all 1000 elements of x are one .* make it contiguous"):
        probe(deployed, one)


def test_a_slice_keeps_what_lies_behind_it() -> None:
    rows = torch.arange(40.0).view(5, 8)
    ((kept,), _) = memory_ranges({"x": rows[:4]})
    assert kept.elements == 40
    (kept, _), _ = memory_ranges({"x": rows[:4], "y": rows[4:]})
    assert kept.elements == 32
    far = torch.zeros(1 << 16)
    ((kept,), _) = memory_ranges({"x": far[:100]})
    assert kept.elements == 100


def test_a_kernel_may_read_what_lies_behind_a_slice() -> None:
    deployed = launch(kernels.astray_kernel, 1, {"BLOCK": 64}, n=40)
    found = checked_outputs(deployed, memory_of(x=normal(64)[:40], out=torch.zeros(64)[:40]))
    assert found.given.reach("x").tolist() == normal(64).tolist()

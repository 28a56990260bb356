"""What the outputs of captured launches should be, and what they start from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import captured_kernels as kernels
import pytest
import torch
from capture_files import CaptureFile
from captured_launches import add, freedom, launch, memory_of, normal, probe, softmax
from kernel_runs import HOST, run_kernel

from foundation.errors import UserError
from kernels.captured.examination import examine_here
from kernels.captured.names import task_name
from kernels.captured.outputs import checked_outputs
from kernels.registry import load_kernel, make_problem


def test_an_output_that_is_written_whole_starts_as_poison() -> None:
    found = checked_outputs(*add())
    assert list(found.outputs) == ["out"]
    assert found.outputs["out"].start is None
    assert found.agree(add()[0].run(found.poisoned()))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.uint64])
def test_integers_without_a_sign_start_as_something_else(dtype: torch.dtype) -> None:
    deployed = launch(kernels.copy_kernel, 4, {"BLOCK": 32}, n=100)
    x = torch.arange(100).to(dtype)
    found = checked_outputs(deployed, memory_of(x=x, out=torch.zeros(100).to(dtype)))
    (output,) = found.outputs.values()
    assert output.start is None
    assert not (found.poisoned().span("out") == x).any()
    assert found.agree(deployed.run(found.poisoned()))


def test_bytes_that_are_rounded_may_be_their_neighbours_where_they_are_as_near() -> None:
    x = 40 * normal(1000).clamp(-3, 3)
    x[::10] = x[::10].floor() + 0.5  # as near to one as to the other, at a factor of 1
    deployed = launch(kernels.bytes_kernel, 4, {"BLOCK": 256}, n=1000, factor=1.0)
    found = checked_outputs(deployed, memory_of(x=x, out=torch.zeros(1000, dtype=torch.int8)))
    output = found.outputs["out"]
    assert output.slack is not None
    assert (output.slack[::10] == 1).all()
    assert output.slack.mean() < 0.5
    after = deployed.run(found.poisoned())
    assert found.agree(after)
    after.span("out")[::10] -= 1
    assert found.agree(after)
    after.span("out")[int(output.slack.argmin())] += 1
    assert not found.agree(after)
    near = (found.poisoned().span("out").short() - output.expected.short()).abs()
    assert near.min() > 1  # else what is never written would be right


def test_bytes_of_bf16_are_turned_in_fp32_and_not_by_whole_steps() -> None:
    x = (40 * normal(1000).clamp(-3, 3)).bfloat16()
    deployed = launch(kernels.bytes_kernel, 4, {"BLOCK": 256}, n=1000, factor=1.0)
    found = checked_outputs(deployed, memory_of(x=x, out=torch.zeros(1000, dtype=torch.int8)))
    is_tie = x.float().frac().abs() == 0.5
    slack = found.outputs["out"].slack
    assert slack is not None
    assert slack[is_tie].all()
    assert slack[~is_tie].mean() < 0.1


def test_bytes_that_no_float_becomes_are_exact() -> None:
    deployed = launch(kernels.copy_kernel, 4, {"BLOCK": 32}, n=100)
    x = torch.arange(100).to(torch.int8)
    found = checked_outputs(deployed, memory_of(x=x, out=torch.zeros_like(x)))
    assert found.outputs["out"].slack is None


def test_a_configuration_of_unsigned_integers_is_tried(tmp_path: Path) -> None:
    capture = CaptureFile(tmp_path / "program.capture")
    x = torch.arange(100).to(torch.uint16)
    values = {"x": x, "out": torch.zeros_like(x), "n": 100, "BLOCK": 32}
    key = capture.launch(kernels.copy_kernel, [4], values)
    examine_here(capture.path, key, widens=False)
    problem = make_problem(load_kernel(task_name(capture.path, key)), {})
    run_kernel(problem, {"BLOCK": 64}, tmp_path, HOST)


def test_an_unfinished_output_is_wrong() -> None:
    deployed, memory = add()
    found = checked_outputs(deployed, memory)
    half = launch(kernels.add_kernel, 2, {"BLOCK": 256}, n=1000)
    assert not found.agree(half.run(found.poisoned()))


def test_what_the_kernel_leaves_alone_stays_as_captured() -> None:
    start = checked_outputs(*softmax()).outputs["out"].start
    assert start is not None
    rows = start.view(8, 120)
    assert rows[:, :100].isnan().all()
    assert (rows[:, 100:] == 3.0).all()


def test_a_kernel_in_place_starts_from_the_captured_contents() -> None:
    x = normal(1000)
    deployed = launch(kernels.scale_kernel, 4, {"BLOCK": 256}, n=1000, factor=2.5)
    output = checked_outputs(deployed, memory_of(x=x)).outputs["x"]
    assert output.start is not None
    assert torch.equal(output.start, x)
    assert torch.allclose(output.expected, 2.5 * x)


def test_an_atomic_sum_starts_from_the_captured_contents() -> None:
    x = normal(1000, dtype=torch.bfloat16)
    deployed = launch(kernels.total_kernel, 4, {"BLOCK": 256}, n=1000)
    output = checked_outputs(deployed, memory_of(x=x, out=torch.full((1,), 5.0))).outputs["out"]
    assert output.start is not None
    assert output.start.item() == 5.0
    assert output.expected.item() == pytest.approx(5.0 + x.float().sum().item(), abs=1e-3)


def test_16_bit_floats_are_expected_as_fp32_gives_them() -> None:
    deployed, memory = softmax(torch.bfloat16)
    found = checked_outputs(deployed, memory)
    assert found.in_fp32
    exact = memory.tensor("x").double().softmax(1).to(torch.bfloat16)
    got = found.outputs["out"].expected.view(8, 120)[:, :100]
    assert (got.view(torch.int16) - exact.view(torch.int16)).abs().max() <= 1


def test_sums_that_are_rounded_on_the_way_may_be_as_far_off() -> None:
    """Those of another order, or another machine, round to other numbers."""
    deployed = launch(kernels.narrow_sums_kernel, 64, {"BLOCK": 64}, columns=512)
    x, y = normal(64, 512, dtype=torch.float16), normal(64, 512, dtype=torch.float16)
    found = checked_outputs(deployed, memory_of(x=x, y=y.flip(0), out=torch.zeros(64)))
    assert found.in_fp32
    other = launch(kernels.narrow_sums_kernel, 64, {"BLOCK": 512}, columns=512)
    assert found.agree(other.run(found.poisoned()))
    half = launch(kernels.narrow_sums_kernel, 64, {"BLOCK": 64}, columns=256)
    assert not found.agree(half.run(found.poisoned()))


def test_fp32_that_is_converted_to_16_bits_inside_may_be_as_far_off() -> None:
    deployed = launch(kernels.converted_sums_kernel, 64, {"BLOCK": 4}, columns=16)
    memory = memory_of(x=normal(64, 16), out=torch.zeros(64))
    found = checked_outputs(deployed, memory)
    other = launch(kernels.converted_sums_kernel, 64, {"BLOCK": 16}, columns=16)
    assert found.agree(other.run(found.poisoned()))
    half = launch(kernels.converted_sums_kernel, 64, {"BLOCK": 4}, columns=8)
    assert not found.agree(half.run(found.poisoned()))


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float8_e4m3fn])
def test_8_bit_floats(dtype: torch.dtype) -> None:
    deployed, memory = softmax(dtype)
    found = checked_outputs(deployed, memory)
    assert not found.in_fp32
    assert found.agree(deployed.run(found.poisoned()))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.uint8])
def test_integers_are_exact(dtype: torch.dtype) -> None:
    deployed, memory = add(dtype=dtype)
    found = checked_outputs(deployed, memory)
    assert found.outputs["out"].slack is None
    after = deployed.run(found.poisoned())
    assert found.agree(after)
    after.span("out")[500] += 1
    assert not found.agree(after)


def test_an_output_that_is_an_input_too_is_tuned_on_arrays_of_their_own() -> None:
    x = normal(1000)
    deployed, _ = add()
    assert freedom(probe(deployed, memory_of(x=x, y=normal(1000), out=x)), "BLOCK").varies


@pytest.mark.parametrize("swaps", [False, True])
def test_outputs_that_fill_parts_of_one_tensor_are_tuned(swaps: bool) -> None:
    deployed = launch(kernels.halves_kernel, 4, {"BLOCK": 64}, step=200, columns=100)
    deployed = replace(deployed, grid=(4, 2, 1))
    left, right = torch.zeros(4, 200).chunk(2, dim=1)[:: -1 if swaps else 1]
    memory = memory_of(x=normal(4, 100), left=left, right=right)
    assert freedom(probe(deployed, memory), "BLOCK").varies


def test_an_output_that_follows_from_shared_memory_is_refused() -> None:
    deployed = launch(kernels.running_sum_kernel, 1, {}, n=50)
    x = torch.ones(50)
    with pytest.raises(UserError, match="reads through one of x and out what it wrote through"):
        probe(deployed, memory_of(x=x, out=x))


def test_an_output_that_other_outputs_need_starts_from_the_captured_contents() -> None:
    deployed = launch(kernels.gated_kernel, 6, {"BLOCK": 64}, columns=300)
    memory = memory_of(grad=normal(6, 300), a=normal(6, 300), b=2 * normal(6, 300))
    found = checked_outputs(deployed, memory)
    assert found.agree(deployed.run(found.poisoned()))
    assert freedom(probe(deployed, memory), "BLOCK").varies


def test_a_kernel_without_outputs_is_refused() -> None:
    deployed = launch(kernels.nothing_kernel, 1, {}, n=3)
    with pytest.raises(UserError, match="nothing_kernel writes none of its arguments"):
        checked_outputs(deployed, memory_of(x=normal(10)))


def test_a_launch_without_programs_is_refused() -> None:
    deployed, memory = add()
    with pytest.raises(UserError, match=r"no programs .its grid is 0x1x1"):
        probe(replace(deployed, grid=(0, 1, 1)), memory)

"""Shortcuts that are right once, or for a file's own inputs, are found on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.run.sizes import notes_on_sizes
from engine.run.summary import summarise
from engine.study.stored_trial import StoredTrial
from foundation.config import Config
from kernels.own.host_run import HostRun
from kernels.registry import load_kernel, make_problem

ROWS = """
import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + tl.program_id(0) * N + at, MASK)
    tl.store(y_ptr + tl.program_id(0), tl.sum(total, 0))


def get_rows_kernel_autotune_config():
    return [triton.Config({"BLOCK": block}) for block in (64, 16)]


def arguments(M=8, N=128):
    REFUSAL
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(M), "N": N}


def grid(meta):
    return (meta["M"],)


def reference(x_ptr):
    return {"y_ptr": x_ptr.sum(1)}
"""
SCALED = """
import torch
import triton
import triton.language as tl


@triton.jit
def scaled_kernel(x_ptr, scale_ptr, y_ptr, N, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    inside = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK + inside
    group = tl.program_id(0) * (BLOCK // GROUP) + inside // GROUP
    scale = tl.load(scale_ptr + group, mask=at < N)
    tl.store(y_ptr + at, scale * tl.load(x_ptr + at, mask=at < N), mask=at < N)


def get_scaled_kernel_autotune_config():
    return [triton.Config({"BLOCK": 64})]


def arguments(N=256, GROUP=16):
    scales = torch.randn(triton.cdiv(N, GROUP))
    return {"x_ptr": torch.randn(N), "scale_ptr": scales, "y_ptr": torch.empty(N), "N": N,
            "GROUP": GROUP}


def grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def reference(x_ptr, scale_ptr, GROUP):
    return {"y_ptr": scale_ptr.repeat_interleave(GROUP)[: len(x_ptr)] * x_ptr}
"""
FILE = Path(__file__).parent / "written_as_shortcuts.py"
FOUND = [
    ("counter", "count_ptr[0] is 8 and should be 0"),
    ("skipped", "y_ptr["),
    ("unit", "y_ptr["),
]


@pytest.mark.parametrize(("name", "reason"), FOUND)
def test_a_shortcut_is_found(name, reason, tmp_path):
    problem = make_problem(load_kernel(f"{FILE}:{name}_kernel"), {})
    for fast, mismatch in enumerate(("", reason)):
        config = Config({"FAST": fast, "BLOCK": 64})
        folder = tmp_path / str(fast)
        folder.mkdir()
        run = HostRun(
            folder,
            problem.spec.kernel,
            problem.constants(config),
            {},
            problem.spec.grid(problem, config),
        )
        assert run.is_right(problem.arguments(config)) is not bool(fast)
        assert run.mismatch.startswith(mismatch)


def test_a_number_that_the_default_leaves_out_is_named():
    problem = make_problem(load_kernel(f"{FILE}:factor_kernel"), {})
    (note,) = problem.spec.check(problem)
    assert note.startswith(
        "the check keeps factor close to what arguments makes, since the default "
    )
    assert "with another number, y_ptr[" in note


def test_an_argument_that_is_left_out_is_named():
    problem = make_problem(load_kernel(f"{FILE}:strided_kernel"), {})
    assert problem.spec.check(problem) == (
        "the default configuration makes no use of seed: outputs are checked with one value of it, "
        "and with another stride, for example, they may be wrong",
    )
    honest, fast = (Config({"FAST": fast, "BLOCK": 64}) for fast in (0, 1))
    for time_s in (1.0, 3.0):
        times = {honest: 2.0, fast: time_s}
        trials = [StoredTrial(n, c, "correct", times[c], {}) for n, c in enumerate(times)]
        notes = notes_on_sizes(problem, summarise(trials, honest))
        assert notes == (time_s < times[honest]) * (
            "FAST=1,BLOCK=64 makes no use of step, which the default configuration uses: it may be "
            "right for this shape and these strides alone",
        )


def test_a_size_that_only_the_grid_uses_is_not_named():
    problem = make_problem(load_kernel(f"{FILE}:planes_kernel"), {})
    (note,) = problem.spec.check(problem)
    assert note.startswith("the default configuration makes no use of PITCH: ")


ELSEWHERE = [
    (
        "square",
        "M=60,N=60 and wrong at M=59,N=57, where the default configuration is right: it tou",
    ),
    ("turned", "shift=5 and wrong with shift=11, where the default configuration is right: y_ptr["),
]


@pytest.mark.parametrize(("name", "end"), ELSEWHERE)
def test_an_equal_size_or_a_literal_that_stands_for_a_number_is_named(name, end):
    problem = make_problem(load_kernel(f"{FILE}:{name}_kernel"), {})
    honest, fast = (Config({"FAST": fast, "BLOCK": 64}) for fast in (0, 1))
    where = "at" if name == "square" else "with"
    said = problem.spec.on_other_sizes(problem, fast)
    assert said.startswith(f"FAST=1,BLOCK=64 is right {where} {end}")
    assert problem.spec.on_other_sizes(problem, honest) == ""


MASKED = [
    ("", "", "BLOCK=64 is right at M=8,N=128 and wrong at {at}: {wrong}: mask what lies behind a "),
    ("", "mask=at < N", ""),
    ("    assert N % 64 == 0\n", "", ""),
]


@pytest.mark.parametrize(("refusal", "mask", "said"), MASKED)
@pytest.mark.parametrize("has_reference", [True, False])
@pytest.mark.parametrize("takes_config", ["", ", config=None"])
def test_a_mask_that_every_configuration_leaves_out_is_named(
    refusal, mask, said, has_reference, takes_config, tmp_path
):
    """Sizes of whole blocks hide it; a file may refuse others."""
    text = ROWS.replace("MASK", mask).replace("    REFUSAL\n", refusal)
    text = text.replace("x_ptr):", f"x_ptr{takes_config}):")
    file = tmp_path / "rows.py"
    file.write_text(text if has_reference else text.partition("def reference")[0])
    problem = make_problem(load_kernel(str(file)), {})
    for block in (64, 16):
        found = problem.spec.on_other_sizes(problem, Config({"BLOCK": block}))
        as_default = "" if block == 64 else ", as the default configuration is"
        expected = said.replace("64", str(block), 1).replace("{at}", f"M=8,N=83{as_default}")
        assert found.startswith(expected.partition("{wrong}")[0])
        assert found.endswith("or let arguments refuse such sizes") == bool(said)
        assert bool(found) == bool(said)


def test_a_size_that_is_a_constant_of_the_kernel_is_not_made_ragged(tmp_path):
    """Elements that share a scale: the kernel takes parts of its blocks alone."""
    file = tmp_path / "scaled.py"
    file.write_text(SCALED)
    problem = make_problem(load_kernel(str(file)), {})
    assert problem.spec.on_other_sizes(problem, Config({"BLOCK": 64})) == ""


def test_a_block_that_the_file_lists_at_its_multiples_alone_is_not_blamed_elsewhere():
    problem = make_problem(load_kernel(f"{FILE}:whole_kernel"), {})
    assert problem.spec.on_other_sizes(problem, Config({"BLOCK": 64})) == ""


def test_the_input_that_a_shortcut_relies_on_is_named_without_a_reference():
    problem = make_problem(load_kernel(f"{FILE}:unit_kernel"), {})
    note = problem.spec.on_inputs(problem, Config({"FAST": 1, "BLOCK": 64}))
    assert note.startswith("FAST=1,BLOCK=64 is right with x_ptr as unit_arguments makes it, and w")

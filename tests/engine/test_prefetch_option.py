"""PREFETCH: a configuration, a call or a board's file says how far ahead code asks for lines."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from engine.run.identity import made_with
from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from kernels.registry import load_kernel, make_problem
from kernels.spec import OWN_OUTPUTS
from rvv_runner.board import BoardError
from rvv_runner.board_file import read_board_file
from triton_rvv.compiler import RVVOptions
from triton_rvv.targets.machine import X60
from triton_rvv.targets.target import RVVTarget, with_prefetch

SHAPE = {"M": 32, "N": 64, "K": 64}
BLOCKS = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 1}
OWN_FILE = """
import torch
import triton
import triton.language as tl

@triton.autotune(
    [triton.Config({"B": 64, "PREFETCH": p, "waves_per_eu": 2}) for p in ("off", "far")], key=[]
)
@triton.jit
def double(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, 2 * tl.load(x + at, at < n), at < n)

def arguments(N):
    return {"x": torch.ones(N), "y": torch.empty(N), "n": N}
def grid(N, B):
    return (triton.cdiv(N, B),)
"""


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    store = ArtifactStore(tmp_path_factory.mktemp("builds"))
    return KernelBuilder(BuildRequest("matmul", SHAPE, "fp32", RVVTarget(), store))


def _prefetches(builder, **options):
    built = builder.build(Config({**BLOCKS, **options}))
    assert not isinstance(built, BuildFailure), built
    return Path(built.elf_path).with_suffix(".llir").read_text().count("call void @llvm.prefetch")


def test_a_configuration_turns_prefetches_off(builder):
    assert _prefetches(builder) > 0
    assert _prefetches(builder, PREFETCH="near") == _prefetches(builder)
    assert _prefetches(builder, PREFETCH="off") == 0
    assert _prefetches(builder, PREFETCH="far") > 0


def test_a_distance_that_there_is_not_fails_the_configuration(builder):
    built = builder.build(Config({**BLOCKS, "PREFETCH": "beyond"}))
    assert isinstance(built, BuildFailure)
    assert built.measurement.status == "compile"
    assert "PREFETCH is beyond: make it off, near, far" in built.measurement.reason
    with pytest.raises(ValueError, match="make it off, near, far"):
        RVVOptions(PREFETCH="beyond")  # type: ignore[arg-type]  # as from Python without types


def test_far_is_twice_as_far_and_near_the_target_itself():
    target = RVVTarget()
    assert with_prefetch(target, "near") == with_prefetch(target, None) == target
    far = with_prefetch(target, "far").machine
    assert far.rows_ahead == 2 * X60.rows_ahead
    assert str(with_prefetch(target, "far")) != str(target)


def test_a_boards_file_says_that_prefetches_do_not_help(tmp_path):
    file = 'kind = "x60"\nprefetch = "{}"\n[ssh]\nhost = "board"\n'
    (tmp_path / "mine.toml").write_text(file.format("off"))
    info = read_board_file("mine", tmp_path).info("mine")
    assert info.target.machine.prefetch == "off"
    as_usual = dataclasses.replace(info, prefetch=None)
    assert made_with("source", info, OWN_OUTPUTS) != made_with("source", as_usual, OWN_OUTPUTS)
    (tmp_path / "mine.toml").write_text(file.format("no"))
    with pytest.raises(BoardError, match="make it one of off, near, far"):
        read_board_file("mine", tmp_path)


def test_a_file_of_ones_own_lists_distances_among_its_configurations(tmp_path):
    path = tmp_path / "double.py"
    path.write_text(OWN_FILE)
    problem = make_problem(load_kernel(str(path)), {"N": 128}, None)
    space = problem.space(read_board_file("x60").info("emulated:x60"))
    assert space.default == Config({"B": 64, "PREFETCH": "off"})
    (prefetch,) = (each for each in space.parameters if each.name == "PREFETCH")
    assert set(prefetch.values) == {"off", "far"}
    assert problem.constants(Config({"B": 64, "PREFETCH": "off"}))["B"] == 64
    assert "PREFETCH" not in problem.constants(Config({"B": 64, "PREFETCH": "off"}))

"""Code is made for the caches and latencies of a core, which the target names."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.config import Config
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardError
from rvv_runner.board_file import read_board_file
from triton_rvv import compile_kernel
from triton_rvv.targets.cores import CORES
from triton_rvv.targets.machine import MACHINES, X60, Machine
from triton_rvv.targets.target import RVVTarget


def lowered(target: RVVTarget) -> str:
    """LLVM IR of a product whose rows are 8 KiB apart, before optimisation."""
    problem = make_problem(load_kernel("matmul"), {"M": 64, "N": 2048, "K": 64})
    blocks = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32}
    config = Config({**problem.default_config, **blocks})
    sizes = {argument.name: argument.value for argument in problem.arguments(config)}
    known = {name: value for name, value in sizes.items() if isinstance(value, int)}
    kernel = problem.spec.kernel
    passed = [name for name in kernel.arg_names if name in sizes]
    signature = {name: "i32" if name in known else "*fp32" for name in passed}
    compiled = compile_kernel(kernel, signature, config, target, known, disjoint_arguments=True)
    return compiled.lowered


def test_a_core_without_numbers_of_its_own_has_those_of_the_x60() -> None:
    assert RVVTarget().machine == RVVTarget.named("x280").machine == X60 == Machine()


def test_the_numbers_are_a_part_of_the_name_that_caches_go_by() -> None:
    names = {str(RVVTarget(machine=machine)) for machine in MACHINES.values()}
    assert len(names) == len(set(MACHINES.values()))
    assert str(RVVTarget()) == "generic-rv64-vlen256"


def test_lines_that_share_a_set_follow_from_size_and_ways() -> None:
    assert X60.way_bytes == 8 << 10
    assert MACHINES["x100"].way_bytes == 16 << 10


@pytest.mark.parametrize("core", ["x100", pytest.param("c908", marks=pytest.mark.long)])
def test_code_follows_from_the_numbers(core: str) -> None:
    here, there = (lowered(RVVTarget(machine=machine)) for machine in (X60, MACHINES[core]))
    assert here != there


@pytest.mark.parametrize("board", ["x100", "c908", "c920v2", "ascalon", "sg2044", "a210:c920"])
def test_a_board_names_the_core_for_which_code_is_made(board: str) -> None:
    info = read_board_file(board).info(board)
    assert isinstance(info.target, RVVTarget)
    assert info.target.machine == MACHINES[info.tune]
    assert info.target.machine != X60


def test_tune_goes_before_the_core() -> None:
    assert RVVTarget.named("c908").machine == CORES["c908"].machine != X60
    assert RVVTarget.named("c908", tune="x60").machine == X60


def test_an_unknown_core_to_tune_for_is_refused(tmp_path: Path) -> None:
    entries = ("cpu = 'x60'", "vlen_bits = 256", "cores = 1", "frequency_hz = 1", "tune = 'x6'")
    (tmp_path / "desk.toml").write_text("\n".join(entries))
    with pytest.raises(BoardError, match="tune = 'x6': make it one of x60, "):
        read_board_file("desk", tmp_path)

"""The search spaces for GPUs: what they hold, and what their rules forbid is what cannot run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gpus import H200, MI300X

from foundation.config import Config
from foundation.errors import UserError
from gpu_runner.compile import compile_kernel, kernel_input
from gpu_runner.detect import target_of
from kernels.on_device import without_contents
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner.board import BoardInfo
from search_spaces.enumeration import take_census
from search_spaces.gpu.products import operand_bytes

SHAPES = {
    "matmul": {"M": 4096, "N": 4096, "K": 4096},
    "batched_matmul": {"B": 16, "M": 512, "N": 512, "K": 64},
    "persistent_matmul": {"M": 4096, "N": 4096, "K": 4096},
    "split_k_matmul": {"M": 64, "N": 8192, "K": 4096},
    "gemm_a8w8_blockscale": {"M": 32, "N": 4096, "K": 7168},
    "fused_moe": {"M": 64, "E": 8, "N": 2048, "K": 1024},
    "flash_attention_fwd": {"Z": 4, "H": 16, "N_CTX": 4096, "D_HEAD": 128},
    "flash_attention_fwd_causal": {"Z": 1, "H": 2, "N_CTX": 100, "D_HEAD": 80},
    "softmax": {"M": 4096, "N": 1000},
    "layernorm_fwd": {"M": 3, "N": 4096},
    "cross_entropy": {"M": 4096, "N": 32000},
    "layernorm_bwd": {"M": 4096, "N": 4096},
    "vector_add": {"N": 1 << 24},
    "dropout": {"N": 1000},
    "add_rms_norm": {"M": 4096, "N": 896},
    "swiglu": {"N": 1 << 22},
    "decode_attention": {"KV_HEADS": 8, "G": 4, "N_CTX": 4096, "D_HEAD": 128},
    "jacobi": {"M": 4096, "N": 4096},
    "rope_fwd": {"TOKENS": 4096, "HEADS": 32, "HEAD_SIZE": 128},
    "rope_bwd": {"TOKENS": 7, "HEADS": 3, "HEAD_SIZE": 20},
    "resize": {"C": 3, "H": 1080, "W": 1920},
    "warp": {"C": 3, "H": 1080, "W": 1920},
    "correlation": {"C": 64, "H": 270, "W": 480, "D": 40},
}
SCALED = "gemm_a8w8_blockscale"
BLOCKS = {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8}
ON_AMD = {"waves_per_eu": 0, "matrix_instr_nonkdim": 16, "kpack": 1}


def problem_of(kernel: str, dtype: str | None = None, space: str = "") -> Problem:
    return make_problem(load_kernel(kernel), SHAPES[kernel], dtype, space_name=space)


@pytest.mark.parametrize("board", [H200, MI300X], ids=lambda board: board.cpu)
@pytest.mark.parametrize("kernel", SHAPES)
def test_default_may_be_tried_everywhere(kernel: str, board: BoardInfo) -> None:
    problem = problem_of(kernel)
    space = problem.space(board)
    assert space.default is not None
    assert space.holds(space.default)
    assert all(size > 0 for size in problem.spec.grid(problem, space.default))
    assert take_census(space).valid >= 10
    assert ("waves_per_eu" in space.default) == (board is MI300X)


def test_a_kernel_without_a_space_for_gpus_says_what_to_write() -> None:
    spec = replace(load_kernel("matmul"), name="rope")
    with pytest.raises(UserError, match=r"write search_spaces/gpu/rope\.py"):
        make_problem(spec, {}).space(H200)


def test_the_spaces_of_other_tuners_are_chosen_by_name() -> None:
    # Each value that AITER's script lists; NVIDIA's compiler lacks one of three values, and one.
    assert take_census(problem_of(SCALED, space="aiter").space(MI300X)).valid == 5832
    assert take_census(problem_of(SCALED, space="aiter").space(H200)).valid == 5832 // 3
    with pytest.raises(UserError, match="no search space named vllm: choose tune_gemm"):
        problem_of("matmul", space="vllm").space(H200)
    with pytest.raises(UserError, match="leave out --space aiter"):
        problem_of("softmax", space="aiter").space(H200)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({}, ""),
        ({"BLOCK_SIZE_M": 16}, "block-size-m-of-an-instruction"),
        ({"BLOCK_SIZE_K": 128, "BLOCK_SIZE_M": 128}, "block-k-leaves-room"),
        ({"GROUP_SIZE_M": 2}, "group-within-rows"),
        ({"SPLIT_K": 2}, "split-k-only-where-needed"),
        ({"SPLIT_K": 5}, "split-k-divides-k"),
    ],
)
def test_the_rules_of_tune_gemm_are_bans_in_its_space(changes: dict[str, int], rule: str) -> None:
    space = problem_of("split_k_matmul", "fp16", "tune_gemm").space(MI300X)
    assert space.default is not None
    violated = space.violation(Config({**space.default, **changes}))
    assert (violated.name if violated else "") == rule


# Found fastest of 1,152 configurations by hand on an H200: M, N, K, and what runs.
@pytest.mark.parametrize(
    ("m", "n", "k", "block_n", "stages", "splits", "loads"),
    [
        (32, 4096, 7168, 64, 4, 4, ".cg"),
        (512, 7168, 2048, 128, 4, 1, ""),
        (4096, 4096, 4096, 128, 3, 1, ""),
    ],
)
def test_what_was_fastest_is_in_the_space(
    m: int, n: int, k: int, block_n: int, stages: int, splits: int, loads: str
) -> None:
    shape = {"M": m, "N": n, "K": k}
    space = make_problem(load_kernel(SCALED), shape, "fp8e4nv").space(H200)
    fastest = Config(
        {
            "BLOCK_SIZE_M": 64,
            "BLOCK_SIZE_N": block_n,
            "BLOCK_SIZE_K": 128,
            "GROUP_SIZE_M": 8 if m > 64 else 1,  # of one row of blocks, all groups are the same
            "NUM_KSPLIT": splits,
            "cache_modifier": loads,
            "B_COLUMN_MAJOR": True,
            "num_warps": 4,
            "num_stages": stages,
        }
    )
    assert space.holds(fastest)
    assert not [rule.name for rule in space.guesses if rule.forbids(fastest)]


def shared_bytes(problem: Problem, config: Config, board: BoardInfo) -> int:
    """What the compiled kernel takes, by Triton."""
    target = target_of(board)
    made_from = kernel_input(
        problem.spec.kernel,
        without_contents(problem, config),
        problem.constants(config),
        problem.launch_options(config),
        target,
    )
    return compile_kernel(problem.spec.kernel, made_from, target).shared_bytes


@pytest.mark.parametrize(
    ("board", "changes"),
    [
        (H200, {"num_warps": 4, "num_stages": 3}),  # by warpgroups
        pytest.param(
            *(H200, {"BLOCK_SIZE_M": 32, "num_warps": 4, "num_stages": 4}), marks=pytest.mark.long
        ),
        (H200, {"BLOCK_SIZE_N": 64, "num_warps": 8, "num_stages": 1}),
        (MI300X, {"num_warps": 8, "num_stages": 2, **ON_AMD}),
        (MI300X, {"BLOCK_SIZE_M": 32, "num_warps": 4, "num_stages": 3, **ON_AMD}),
    ],
    ids=lambda value: value.cpu if isinstance(value, BoardInfo) else str(len(value)),
)
def test_shared_memory_is_estimated_as_triton_takes_it(
    board: BoardInfo, changes: dict[str, int]
) -> None:
    problem, config = problem_of("matmul", "fp16"), Config({**BLOCKS, **changes})
    assert board.gpu is not None
    estimate = operand_bytes(problem, board.gpu, config)
    taken = shared_bytes(problem, config, board)
    assert estimate <= taken <= 1.5 * estimate


def test_what_the_rule_on_shared_memory_forbids_does_not_fit() -> None:
    problem = problem_of("matmul", "fp16")
    space = problem.space(H200)
    large = Config(
        {**BLOCKS, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 128, "num_warps": 8, "num_stages": 3}
    )
    assert H200.gpu is not None
    rule = space.violation(large)
    assert rule is not None
    assert rule.name == "shared-memory"
    assert shared_bytes(problem, large, H200) > H200.gpu.shared_bytes
    assert space.holds(Config({**large, "num_stages": 2}))

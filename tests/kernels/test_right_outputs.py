"""Every kernel against its reference under QEMU and on this machine, built as the tuner builds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet
from kernel_runs import BOARD, HOST, run_kernel
from pairs import in_turn
from small_shapes import EVEN, RAGGED

from kernels.registry import kernel_names, load_kernel, make_problem

# Blocks that walk over rows or columns in several steps, where the default does it in one.
STEPS = {
    "layernorm_fwd": {"BLOCK_SIZE_M": 2, "BLOCK_SIZE_N": 32},
    "layernorm_bwd": {"BLOCK_SIZE_M": 2, "ROW_BLOCKS": 3},
    "cross_entropy": {"BLOCK_SIZE_M": 2, "BLOCK_SIZE_N": 32},
    "rope_fwd": {"BLOCK_SIZE_M": 2, "BLOCK_SIZE_H": 2},
    "correlation": {"BLOCK_SIZE_W": 32},
    "gemm_a8w8_blockscale": {"GROUP_SIZE_M": 2},
    "matmul_w4a8": {"BLOCK_SIZE_M": 2},
    "matmul_w4a16": {"BLOCK_SIZE_M": 2},
    "decode_attention": {"SPLITS": 2, "BLOCK_SIZE_M": 2},
    "add_rms_norm": {"BLOCK_SIZE_M": 2, "BLOCK_SIZE_N": 32},
}


def types() -> Iterator[ParameterSet]:
    """Every kernel in every type; one is short.

    That is another than the usual one, in turn, which even shapes and the host have. Products have
    code of their own for each type, which the compiler's tests run.
    """
    for number, name in enumerate(kernel_names()):
        usual, *others = load_kernel(name).dtypes
        for place, dtype in enumerate((usual, *others)):
            is_short = place == (1 + number % len(others) if others else 0)
            yield pytest.param(name, dtype, marks=() if is_short else pytest.mark.long)


@pytest.mark.parametrize(("name", "dtype"), [*types()])
def test_ragged_shape_on_the_board(name, dtype, tmp_path):
    problem = make_problem(load_kernel(name), RAGGED[name], dtype)
    run_kernel(problem, STEPS.get(name, {}), tmp_path, BOARD)


@pytest.mark.long
@pytest.mark.parametrize("name", kernel_names())
def test_even_shape_on_the_board(name, tmp_path):
    run_kernel(make_problem(load_kernel(name), EVEN[name]), {}, tmp_path, BOARD)


@pytest.mark.parametrize("name", kernel_names())
@pytest.mark.parametrize(
    "shapes",
    [pytest.param(RAGGED, id="ragged", marks=pytest.mark.long), pytest.param(EVEN, id="even")],
)
def test_both_shapes_on_the_host(name, shapes, tmp_path):
    run_kernel(make_problem(load_kernel(name), shapes[name]), STEPS.get(name, {}), tmp_path, HOST)


@pytest.mark.parametrize(
    "block_rows", [4, *(pytest.param(n, marks=pytest.mark.long) for n in (8, 16, 32)), 64]
)
def test_fused_moe_follows_its_block_of_rows(block_rows, tmp_path):
    """Arguments and grid depend on BLOCK_SIZE_M, all the way through build and run."""
    problem = make_problem(load_kernel("fused_moe"), RAGGED["fused_moe"])
    run_kernel(problem, {"BLOCK_SIZE_M": block_rows, "GROUP_SIZE_M": 2}, tmp_path, BOARD)


@pytest.mark.parametrize("parts", [pytest.param(1, marks=pytest.mark.long), 16])
def test_split_k_with_parts_that_are_empty(parts, tmp_path):
    problem = make_problem(load_kernel("split_k_matmul"), RAGGED["split_k_matmul"])
    run_kernel(problem, {"SPLIT_K": parts, "BLOCK_SIZE_K": 32}, tmp_path, BOARD)


PARTS = [
    {"NUM_KSPLIT": 3, "B_COLUMN_MAJOR": True, "BLOCK_SIZE_K": 128, "cache_modifier": ".cg"},
    {"NUM_KSPLIT": 2, "BLOCK_SIZE_K": 128},
    {"NUM_KSPLIT": 4, "B_COLUMN_MAJOR": True},  # more parts than scales: some are empty
]


@pytest.mark.parametrize(("asked", "target"), in_turn(PARTS, [BOARD, HOST]))
def test_scaled_product_in_parts(asked, target, tmp_path):
    shape = {"M": 17, "N": 150, "K": 300}
    problem = make_problem(load_kernel("gemm_a8w8_blockscale"), shape, "fp8e4nv")
    run_kernel(problem, asked, tmp_path, target)

"""The spaces of the kernels: sizes, defaults, and what each rule forbids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from pairs import in_turn

from foundation.config import Config
from foundation.errors import UserError
from kernels.registry import kernel_names, load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner.board import BoardInfo

X60 = BoardInfo(
    name="emulated:x60",
    kind="emulated",
    cpu="spacemit-x60",
    vlen_bits=256,
    cores=8,
    frequency_hz=1.6e9,
    l1d_bytes=32 * 1024,
    l2_bytes=512 * 1024,
)
SHAPES = {
    "matmul": [
        {},
        {"M": 1, "N": 1, "K": 1},
        {"M": 100, "N": 70, "K": 77},
        {"M": 33, "N": 257, "K": 65},
        {"M": 1, "N": 4096, "K": 4096},
        {"M": 4096, "N": 1, "K": 3},
    ],
    "batched_matmul": [{}, {"B": 1, "M": 1, "N": 1, "K": 1}, {"B": 3, "M": 33, "N": 70, "K": 5}],
    "persistent_matmul": [{}, {"M": 1, "N": 1, "K": 1}, {"M": 33, "N": 257, "K": 65}],
    "split_k_matmul": [{}, {"M": 1, "N": 1, "K": 1}, {"M": 3, "N": 4097, "K": 9000}],
    "gemm_a8w8_blockscale": [{}, {"M": 1, "N": 1, "K": 1}, {"M": 33, "N": 130, "K": 7000}],
    "fused_moe": [{}, {"M": 1, "E": 2, "N": 1, "K": 1}, {"M": 1000, "E": 8, "N": 512, "K": 512}],
    "flash_attention_fwd": [{}, {"Z": 1, "H": 1, "N_CTX": 1, "D_HEAD": 1}, {"D_HEAD": 80}],
    "flash_attention_fwd_causal": [{}, {"N_CTX": 100, "D_HEAD": 256}],
    "layernorm_fwd": [{}, {"M": 1, "N": 1}, {"M": 3, "N": 100_000}],
    "layernorm_bwd": [{}, {"M": 1, "N": 1}, {"M": 4096, "N": 33}],
    "rope_fwd": [{}, {"TOKENS": 1, "HEADS": 1, "HEAD_SIZE": 2}, {"HEADS": 33, "HEAD_SIZE": 80}],
    "rope_bwd": [{}, {"TOKENS": 1, "HEADS": 1, "HEAD_SIZE": 1}],
    "dropout": [{}, {"N": 1}, {"N": 10_000_000}],
    "cross_entropy": [{}, {"M": 1, "N": 1}, {"M": 3, "N": 100_000}],
    "correlation": [{}, {"C": 1, "H": 1, "W": 1, "D": 1}],
    "resize": [{}, {"C": 1, "H": 1, "W": 1}, {"H": 1080, "W": 1920}],
    "warp": [{}, {"C": 1, "H": 1, "W": 1}],
    "jacobi": [{}, {"M": 1, "N": 1}, {"M": 4096, "N": 4097}],
    "vector_add": [{}, {"N": 1}, {"N": 100}, {"N": 10_000_000}],
    "softmax": [{}, {"M": 1, "N": 1}, {"M": 3, "N": 100_000}, {"M": 4096, "N": 33}],
    "matmul_w4a8": [{}, {"M": 1, "N": 1, "K": 1}, {"M": 128, "N": 130, "K": 7000}],
    "matmul_w4a16": [{}, {"M": 1, "N": 1, "K": 1}, {"M": 128, "N": 130, "K": 7000}],
    "decode_attention": [{}, {"KV_HEADS": 1, "G": 1, "N_CTX": 1, "D_HEAD": 1}],
    "add_rms_norm": [{}, {"M": 1, "N": 1}, {"M": 3, "N": 100_000}],
    "quantize_groups": [{}, {"M": 1, "K": 1}],
    "swiglu": [{}, {"N": 1}, {"N": 2_000_000}],
}


def problem_of(kernel: str, shape: dict[str, int] | None = None) -> Problem:
    return make_problem(load_kernel(kernel), shape or {})


def matmul_rule(
    blocks: Mapping[str, int], board: BoardInfo = X60, shape: dict[str, int] | None = None
) -> str:
    """The name of the rule that forbids a block of matmul, or "" where it may be tried."""
    space = problem_of("matmul", shape).space(board)
    config = Config({"GROUP_SIZE_M": 1, **blocks})
    rule = space.violation(Config({p.name: config[p.name] for p in space.parameters}))
    return rule.name if rule else ""


def test_every_kernel_has_a_space() -> None:
    assert set(kernel_names()) == set(SHAPES)


@pytest.mark.parametrize(
    ("vlen_bits", "kernel", "shape"),
    in_turn(
        [128, 256, 512, 1024], [(kernel, shape) for kernel in SHAPES for shape in SHAPES[kernel]]
    ),
)
def test_the_default_may_be_tried_everywhere(
    kernel: str, shape: dict[str, int], vlen_bits: int
) -> None:
    problem = problem_of(kernel, shape)
    space = problem.space(replace(X60, vlen_bits=vlen_bits))
    valid = list(space.valid_configs())
    assert space.default == problem.default_config
    assert space.default in valid
    for config in valid:
        assert all(size & (size - 1) == 0 for size in map(int, config.values()))


def test_matmul_has_many_configurations_on_the_x60() -> None:
    assert 500 <= len(list(problem_of("matmul").space(X60).valid_configs())) <= 3000


@pytest.mark.parametrize("dimension", ["M", "N", "K"])
def test_blocks_stay_within_the_problem(dimension: str) -> None:
    blocks = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64}
    blocks[f"BLOCK_SIZE_{dimension}"] = 128
    shape = {"M": 200, "N": 200, "K": 200}
    assert matmul_rule(blocks, shape=shape) == ""
    covered = f"block-size-{dimension.lower()}-within-{dimension.lower()}"
    assert matmul_rule(blocks, shape={**shape, dimension: 64}) == covered
    assert matmul_rule(blocks, shape={**shape, dimension: 65}) == ""


@pytest.mark.parametrize(("vlen_bits", "lanes"), [(128, 4), (256, 8), (512, 16), (1024, 32)])
def test_rows_fill_vector_registers(vlen_bits: int, lanes: int) -> None:
    board = replace(X60, vlen_bits=vlen_bits)
    blocks = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_K": 64}
    assert matmul_rule({**blocks, "BLOCK_SIZE_N": lanes}, board) == ""
    if lanes > 4:
        assert matmul_rule({**blocks, "BLOCK_SIZE_N": lanes // 2}, board) == "rows-fill-registers"


def test_a_dimension_narrower_than_a_register_still_has_a_block() -> None:
    blocks = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_K": 64}
    assert matmul_rule({**blocks, "BLOCK_SIZE_N": 8}, shape={"N": 3}) == ""
    assert matmul_rule({**blocks, "BLOCK_SIZE_N": 16}, shape={"N": 3}) == "block-size-n-within-n"


def test_the_working_set_fits_in_the_l2_cache() -> None:
    blocks = {"BLOCK_SIZE_M": 256, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 128}
    # 256*128 + 128*256 + 256*256 elements of 4 bytes are 512 KiB.
    assert matmul_rule(blocks) == ""
    smaller = replace(X60, l2_bytes=512 * 1024 - 1)
    assert matmul_rule(blocks, smaller) == "working-set-within-l2"
    assert matmul_rule(blocks, replace(X60, l2_bytes=None)) == ""


def test_the_stack_is_limited_where_the_cache_is_not_known() -> None:
    board = replace(X60, l2_bytes=None)
    problem = problem_of("softmax", {"M": 64, "N": 100_000})
    rows = {int(c["BLOCK_SIZE_M"]) for c in problem.space(board).valid_configs()}
    assert rows == {1, 2, 4}  # A row takes 128 Ki elements of 4 bytes, of 2 MiB


def test_a_step_has_enough_work() -> None:
    assert matmul_rule({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_K": 8}) == ""
    assert matmul_rule({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": 8, "BLOCK_SIZE_K": 8}) == "enough-work"
    tiny = {"M": 1, "N": 1, "K": 1}
    assert matmul_rule({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": 8, "BLOCK_SIZE_K": 1}, shape=tiny) == ""


@pytest.mark.parametrize(
    ("block_m", "block_n", "group", "rule"),
    [
        (64, 64, 4, ""),
        (64, 64, 8, "group-has-effect"),
        (64, 512, 2, "group-has-effect"),
        (64, 512, 1, ""),
        (256, 64, 2, "group-has-effect"),
    ],
)
def test_groups_have_an_effect(block_m: int, block_n: int, group: int, rule: str) -> None:
    blocks = {"BLOCK_SIZE_M": block_m, "BLOCK_SIZE_N": block_n, "BLOCK_SIZE_K": 32}
    assert matmul_rule({**blocks, "GROUP_SIZE_M": group}) == rule


def test_softmax_covers_a_row() -> None:
    space = problem_of("softmax", {"M": 8, "N": 300}).space(X60)
    assert [str(config) for config in space.valid_configs()] == [
        f"BLOCK_SIZE_M={rows},BLOCK_SIZE_N=512" for rows in (1, 2, 4, 8)
    ]


def test_vector_add_offers_all_that_fits() -> None:
    sizes = [int(c["BLOCK_SIZE"]) for c in problem_of("vector_add").space(X60).valid_configs()]
    # Three blocks of 4 bytes an element fit in 512 KiB up to 43,690 elements.
    assert sizes == [1 << exponent for exponent in range(3, 16)]


def test_a_kernel_without_a_space_says_what_to_write() -> None:
    spec = replace(load_kernel("vector_add"), name="rope")
    with pytest.raises(UserError, match=r"write search_spaces/rope\.py"):
        make_problem(spec, {}).space(X60)


@pytest.mark.parametrize(
    ("shape", "doubted"), [({"M": 128, "N": 128, "K": 512}, True), ({}, False)]
)
def test_a_split_that_is_not_needed_is_doubted_and_not_forbidden(
    shape: dict[str, int], doubted: bool
) -> None:
    space = make_problem(load_kernel("split_k_matmul"), shape, None).space(X60)
    split = Config({"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 16, "SPLIT_K": 2})
    assert space.violation(split) is None
    assert [rule.name for rule in space.guesses if rule.forbids(split)] == (
        ["split-k-only-where-needed"] if doubted else []
    )

"""Tuning for another program: what its kernel can run, and what it reads."""

from __future__ import annotations

import pytest
from gpus import H200, MI300X

from engine.arguments.consumer import for_consumer
from engine.results.consumers import CONSUMERS, Consumer
from engine.tune import main
from foundation.config import Config
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo

SHAPES = {
    "gemm_a8w8_blockscale": {"M": 64, "N": 512, "K": 1024},
    "fused_moe": {"M": 16, "E": 8, "N": 2048, "K": 1024},
}
SCALED = "gemm_a8w8_blockscale"


@pytest.mark.parametrize("board", [H200, MI300X], ids=lambda board: board.cpu)
@pytest.mark.parametrize("kernel", SHAPES)
@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda consumer: consumer.option)
def test_its_space_holds_only_what_its_kernel_can_run(
    consumer: Consumer, kernel: str, board: BoardInfo
) -> None:
    dtype, space = for_consumer(consumer.option, kernel, None, "", ("cuda:0@graph", "hip"))
    problem = make_problem(load_kernel(kernel), SHAPES[kernel], dtype, space_name=space)
    tried = problem.space(board)
    assert all(
        not consumer.lacks(Config({parameter.name: value}))
        for parameter in tried.parameters
        for value in parameter.values
    )
    assert consumer.file(kernel, "NVIDIA H200", problem.dtype, problem.shape, "3.7.1") is not None
    assert set(SHAPES) == set(consumer.kernels)


def test_the_kernels_own_space_holds_more() -> None:
    problem = make_problem(load_kernel(SCALED), SHAPES[SCALED], "fp8e4nv")
    assert CONSUMERS[0].lacks(Config({"NUM_KSPLIT": 4})) == "NUM_KSPLIT=4"
    assert 4 in problem.space(H200).parameter("NUM_KSPLIT").values


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("matmul --device cuda --for vllm", "fused_moe and gemm_a8w8_blockscale only, not of mat"),
        (f"{SCALED} --for vllm", "GPUs only, and emulated is none: add --device cuda or hip"),
        (f"{SCALED} --device cuda --for sglang --space aiter", "leave out --space aiter"),
        (f"{SCALED} --device cuda --for vllm --dtype int8", "fp8e4nv only, not in i8: tune it"),
        (f"{SCALED} --device cuda --for vlm", "for named vlm: did you mean vllm"),
        ("--missing --for vllm", "fused_moe and gemm_a8w8_blockscale only: name one of these"),
    ],
)
def test_a_study_that_it_has_no_place_for_is_refused_at_once(arguments: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        main(arguments.split())

"""Names of GPUs, and what a machine without one says."""

from __future__ import annotations

import pytest
import torch

from engine.workers.devices import check_device_name, every_device, load_board, timed
from gpu_runner.names import GpuName, gpu_name
from rvv_runner.board import BoardError


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cuda", GpuName("cuda")),
        ("cuda:1", GpuName("cuda", "1")),
        ("hip:all", GpuName("hip", "all")),
        ("cuda:0@graph", GpuName("cuda", "0", "graph")),
        ("cuda@warm", GpuName("cuda", "", "warm")),
    ],
)
def test_the_parts_of_a_name(text: str, name: GpuName) -> None:
    assert gpu_name(text) == name
    assert str(name) == text
    check_device_name(text)


# "cuda@hot" is the first GPU of a machine named hot.
@pytest.mark.parametrize("text", ["cuda:", "cuda:x", "gpu", "cudas"])
def test_a_mistyped_name_is_a_sentence(text: str) -> None:
    assert gpu_name(text) is None
    with pytest.raises(BoardError, match=f"there is no device named {text}: .*cuda"):
        check_device_name(text)


def test_a_gpu_is_timed_in_several_ways() -> None:
    assert timed("cuda:1", "graph") == "cuda:1@graph"
    assert timed("cuda@graph", "cold") == "cuda"
    assert every_device("emulated") == ["emulated"]


@pytest.mark.skipif(torch.version.cuda is not None, reason="torch is built for CUDA here")
def test_without_torch_for_cuda_a_sentence_says_what_to_install() -> None:
    with pytest.raises(BoardError, match=r"built for CUDA.*pip install torch==2\.\d+\.\d+ "):
        load_board("cuda")

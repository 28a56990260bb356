"""Files of tuned configurations for kernels on GPUs: their names, their keys, the way back."""

from __future__ import annotations

import json
from pathlib import Path

from gpus import H200, MI300X

from engine.jobs.config_files import write_default_file, write_group_files
from engine.jobs.gemm_files import read_sizes
from engine.jobs.shape_list import ShapeGroup, ShapeList, read_shape_list
from engine.results.gemm_json import buckets
from engine.results.gemm_results import write_results
from engine.results.tune_gemm_keys import TUNE_GEMM_KEYS, tune_gemm_keys
from foundation.config import Config

TAG = "A8W8_BLOCKSCALE"
PRODUCTS = """\
kernel: gemm_a8w8_blockscale
tag: A8W8_BLOCKSCALE
dtype: f8e4m3
shapes:
  - {batch_sizes: [1, 4, 64], N: 1024, K: 7168}
"""
EXPERTS = """\
kernel: fused_moe
tag: MOE
dtype: bf16
shapes:
  - {batch_sizes: [1, 64], E: 8, N: 14336, K: 4096}
"""


def tuned(m: int, **changes: int | str) -> Config:
    config: dict[str, int | str] = {
        "BLOCK_SIZE_M": 16 * m,
        "BLOCK_SIZE_N": 64,
        "BLOCK_SIZE_K": 128,
        "GROUP_SIZE_M": 8,
        "NUM_KSPLIT": 1,
        "cache_modifier": "",
        "B_COLUMN_MAJOR": True,
        "num_warps": 4,
        "num_stages": 3,
    }
    return Config({**config, **changes})


def listed(folder: Path, text: str) -> tuple[ShapeList, ShapeGroup]:
    path = folder / "list.yaml"
    path.write_text(text)
    job = read_shape_list(path)
    return job, job.groups[0]


def test_aiter_gets_todays_layout(tmp_path: Path) -> None:
    _, group = listed(tmp_path, PRODUCTS)
    amd = {"waves_per_eu": 2, "matrix_instr_nonkdim": 16, "kpack": 2}
    winners = {m: tuned(m, NUM_KSPLIT=4, **amd) for m in (1, 4, 64)}
    paths, notes = write_group_files(tmp_path, MI300X, TAG, group, winners)
    default = write_default_file(tmp_path, MI300X, TAG, [buckets(winners)])
    folder = tmp_path / "gfx942" / "triton" / "gemm" / "gemm_a8w8_blockscale"
    assert [*paths, default] == [
        folder / f"GEMM-{TAG}-N=1024-K=7168.json",
        folder / "DEFAULT.json",
    ]
    assert len(notes) == 1
    found = json.loads(paths[0].read_text())
    # M = 1 has a range of its own, and the names of older loaders are left out.
    assert {name: entry["BLOCK_SIZE_M"] for name, entry in found.items()} == {
        "M_LEQ_1": 16,
        "M_LEQ_4": 64,
        "M_LEQ_64": 1024,
        "M_GEQ_64": 1024,
        "any": 1024,
    }
    assert set(found["any"]) == (set(winners[1]) | set(amd)) - {"B_COLUMN_MAJOR"}
    assert list(tmp_path.glob("**/.*")) == []


def test_vllm_gets_a_configuration_by_rows(tmp_path: Path) -> None:
    _, group = listed(tmp_path, PRODUCTS)
    paths, notes = write_group_files(tmp_path, H200, TAG, group, {m: tuned(m) for m in (64, 1)})
    assert notes == []
    name = "N=1024,K=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json"
    assert paths[1] == tmp_path / "vllm" / name
    found = json.loads(paths[1].read_text())
    assert list(found) == ["1", "64"]  # its reader takes every key for a number of rows
    assert found["64"] == {
        "BLOCK_SIZE_M": 1024,
        "BLOCK_SIZE_N": 64,
        "BLOCK_SIZE_K": 128,
        "GROUP_SIZE_M": 8,
        "num_warps": 4,
        "num_stages": 3,
    }


def test_what_vllm_cannot_run_is_said_and_not_written(tmp_path: Path) -> None:
    _, group = listed(tmp_path, PRODUCTS)
    winners = {1: tuned(1, NUM_KSPLIT=4), 64: tuned(64)}
    paths, (note,) = write_group_files(tmp_path, H200, TAG, group, winners)
    assert len(paths) == 1
    assert "no NUM_KSPLIT=4, with which M=1 is fastest" in note
    assert "--space vllm" in note
    assert not (tmp_path / "vllm").exists()


def test_a_mixture_of_experts_gets_vllms_file(tmp_path: Path) -> None:
    _, group = listed(tmp_path, EXPERTS)
    names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M")
    winner = Config({name: tuned(1)[name] for name in (*names, "num_warps", "num_stages")})
    (path,), notes = write_group_files(tmp_path, H200, "MOE", group, {1: winner, 64: winner})
    assert notes == []
    # vLLM names a layer by the columns after its activation, half of those of the product.
    assert path == tmp_path / "vllm" / "E=8,N=7168,device_name=NVIDIA_H200.json"
    found = json.loads(path.read_text())
    assert list(found) == ["triton_version", "1", "64"]
    assert found["64"] == dict(winner)


def test_tune_gemm_finds_every_key_and_we_read_it_back(tmp_path: Path) -> None:
    config = Config(
        {
            "BLOCK_SIZE_M": 64,
            "BLOCK_SIZE_N": 128,
            "BLOCK_SIZE_K": 64,
            "GROUP_SIZE_M": 8,
            "num_warps": 4,
            "num_stages": 3,
        }
    )
    path = tmp_path / "results.yaml"
    sizes = {"M": 64, "N": 128, "K": 256, "rowMajorA": "T", "rowMajorB": "T"}
    entry = {**sizes, **config, **tune_gemm_keys(config), "time_us": 3.5}
    assert set(TUNE_GEMM_KEYS) <= set(entry)
    write_results(path, [entry])
    (read,) = read_sizes(path, default_of=lambda problem: problem.space(H200).default or config)
    assert read.config == config
    assert tune_gemm_keys(Config({"BLOCK_SIZE_M": 64})) == {}  # of a processor

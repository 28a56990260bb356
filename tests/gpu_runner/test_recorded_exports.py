"""Exports of studies that were tuned on an H200, opened as their consumers open them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pandas
import pytest
import torch
import triton
import yaml
from recorded_h200 import store_recorded
from test_gpu_exports import exported, looked_up, rows_of

from engine.audit import main as audit
from engine.export import main as export
from engine.report import main as report
from engine.results.exports import format_names
from engine.results.tuned_shape import UnfitStudyError
from engine.study.storage import read_studies
from foundation.config import Config

MATMUL = {
    "BLOCK_SIZE_M": 128,
    "BLOCK_SIZE_N": 256,
    "BLOCK_SIZE_K": 64,
    "GROUP_SIZE_M": 8,
    "num_warps": 8,
    "num_stages": 3,
}
PRODUCT = "N=4096,K=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape="
VLLM = PRODUCT + "[128,128].json"
SGLANG = PRODUCT + "[128, 128].json"


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> str:
    """With every recorded study."""
    storage = str(tmp_path_factory.mktemp("h200") / "studies.journal")
    for kernel in ("matmul", "split_k_matmul", "gemm_a8w8_blockscale"):
        store_recorded(storage, kernel)
    return storage


def names_of(storage: str, kernel: str) -> list[str]:
    return [s.study_name for s in read_studies(storage) if s.attribute("kernel") == kernel]


# Of four studies. The others are of a kernel that the format is not for, on a GPU of another maker,
# or have a winner that splits its sums.
LEFT_OUT = {
    **dict.fromkeys(("aiter", "c"), 4),
    **dict.fromkeys(("sglang", "vllm"), 2),
    **dict.fromkeys(("inductor", "helion"), 3),
    "tune-gemm": 2,
}


def for_vllm(config: Config) -> bool:
    return config["NUM_KSPLIT"] == 1 and config["cache_modifier"] == ""


def test_what_is_for_any_study(storage: str, tmp_path: Path) -> None:
    (name,) = names_of(storage, "matmul")
    for format_name in ("csv", "kernel-tuner", "t4", "t1", "triton"):
        arguments = ["--format", format_name, "--storage", storage, "--out", str(tmp_path / "out")]
        assert export([name, *arguments]) == 0
    folder = tmp_path / "out" / name
    table = pandas.read_csv(folder / "trials.csv")
    correct = table[table["status"] == "correct"]
    assert len(table) == len(correct) == 50
    assert not correct["estimated"].any()
    spec = importlib.util.spec_from_file_location("triton_configs", folder / "triton_configs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    winner: triton.Config = module.CONFIGS[0]
    assert {
        **winner.kwargs,
        "num_warps": winner.num_warps,
        "num_stages": winner.num_stages,
    } == MATMUL
    cache = json.loads((folder / "kernel_tuner_cache.json").read_text())
    assert cache["device_name"] == "nvidia-h200"
    found = [entry["time"] for entry in cache["cache"].values()]
    assert sorted(found) == pytest.approx(sorted(1e3 * correct["time_s"]))
    assert len(json.loads((folder / "t4.json").read_text())["results"]) == 50
    assert report([name, "--storage", storage, "--out", str(tmp_path / "page.html")]) == 0
    # Of the rounds in which the leaders were measured again; its trial took 187.2.
    assert "<b>188 us</b>" in (tmp_path / "page.html").read_text()


def test_products_for_inductor_helion_and_tune_gemm(storage: str) -> None:
    (name,), (split,) = names_of(storage, "matmul"), names_of(storage, "split_k_matmul")
    table = exported(storage, "inductor", name) / "inductor_table.json"
    found = looked_up(table, "mm", (4096, 4096), (4096, 4096), dtype=torch.float16)
    assert found == {
        "BLOCK_M": 128,
        "BLOCK_N": 256,
        "BLOCK_K": 64,
        "GROUP_M": 8,
        "num_warps": 8,
        "num_stages": 3,
        "EVEN_K": True,
    }
    exported(storage, "helion", name)
    config = json.loads((Path(storage).parent / "out" / name / "helion_config.json").read_text())
    assert config["block_sizes"] == [128, 256, 64]
    first, second = yaml.safe_load(
        (exported(storage, "tune-gemm", name, split) / "tuning_results.yaml").read_text()
    )
    assert {key: first[key] for key in ("M", "N", "K", "SPLIT_K")} == {
        **dict.fromkeys("MNK", 4096),
        "SPLIT_K": 1,
    }
    assert {key: second[key] for key in ("M", "N", "K", "SPLIT_K", "num_warps")} == {
        **{"M": 64, "N": 8192, "K": 4096},
        **{"SPLIT_K": 4, "num_warps": 2},
    }


def test_a_list_of_batch_sizes_for_vllm_and_sglang(tmp_path: Path) -> None:
    storage = str(tmp_path / "studies.journal")
    names = store_recorded(storage, "gemm_a8w8_blockscale", for_vllm)
    for format_name, file in (("vllm", VLLM), ("sglang", f"configs/{SGLANG}")):
        path = exported(storage, format_name, *names) / file
        rows = rows_of(path)
        assert list(rows) == [16, 128]
        assert all(config["BLOCK_SIZE_K"] == 128 for config in rows.values())
        given = ["--storage", storage, "--triton", "3.6.0"]
        assert audit([str(path), *given, "--gpu", "NVIDIA H200"]) == 0
        assert audit([str(path), *given, "--gpu", "NVIDIA H100 80GB HBM3"]) == 1


def test_trials_without_split_sums_stand_for_winners_with_them(
    storage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As they came from the GPU."""
    first, _ = names_of(storage, "gemm_a8w8_blockscale")
    for format_name in ("vllm", "sglang"):
        exported(storage, format_name, first)
        assert f"--for {format_name}" in "".join(capsys.readouterr())
    with pytest.raises(UnfitStudyError, match="AMD's GPUs only"):
        exported(storage, "aiter", first)


@pytest.mark.parametrize("format_name", format_names())
def test_every_format_writes_or_says_why_not(
    storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], format_name: str
) -> None:
    if format_name == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    done = export(["--format", format_name, "--storage", storage, "--out", str(tmp_path / "out")])
    said = capsys.readouterr()
    assert done == (0 if said.out else 1)
    stage, *said_of = said.err.splitlines()
    assert stage == f"stage=writing {format_name}"
    left_out = [line for line in said_of if line.startswith("left out: ")]
    names = [study.study_name for study in read_studies(storage)]
    assert all(any(name in line for name in names) for line in left_out)
    assert len(left_out) == LEFT_OUT.get(format_name, 0)
    # Of others, that the default is what is written.
    default_stands = [line for line in said_of if line not in left_out]
    assert all(line.split(": ")[0] in names for line in default_stands)

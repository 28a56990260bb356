"""Exports of studies of GPUs, opened as their consumers open them."""

from __future__ import annotations

import functools
import json
import logging
import os
import typing
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import triton
import yaml
from gpus import H200, MI300X
from recorded_studies import BLOCKS, SCALED, study_of
from test_consumers import loader, undecorated

from engine.export import main
from engine.results.gemm_json import config_for, read_gemm_json
from engine.results.tuned_shape import UnfitStudyError
from engine.study.storage import study_named
from foundation.config import Config, ParameterValue

PRODUCT = {"N": 512, "K": 1024}
LAYER = {"E": 8, "N": 14336, "K": 4096}
VLLM = {name: value for name, value in SCALED.items() if name in BLOCKS}
AMD: dict[str, ParameterValue] = {"waves_per_eu": 2, "matrix_instr_nonkdim": 16, "kpack": 2}


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return str(tmp_path / "studies.journal")


def exported(storage: str, name: str, *studies: str) -> Path:
    """The folder that a format wrote."""
    out = Path(storage).parent / "out"
    assert main([*studies, "--format", name, "--storage", storage, "--out", str(out)]) == 0
    return out / name


def rows_of(path: Path) -> dict[int, Mapping[str, ParameterValue]]:
    """As `get_moe_configs` of vLLM and of SGLang read a file, November 2026."""
    found = json.loads(path.read_text())
    found.pop("triton_version", None)
    return {int(rows): config for rows, config in found.items()}


def small(storage: str, kernel: str, shape: Mapping[str, int], dtype: str, **blocks: int) -> str:
    config = {**(SCALED if kernel == "gemm_a8w8_blockscale" else BLOCKS), **blocks}
    return study_of(storage, H200, kernel, shape, dtype, config)


def test_a_list_of_shapes_becomes_one_file_of_vllms(storage: str) -> None:
    names = [
        small(storage, "gemm_a8w8_blockscale", {"M": m, **PRODUCT}, "fp8e4nv", BLOCK_SIZE_M=16 * m)
        for m in (4, 1)
    ]
    folder = exported(storage, "vllm", *names)
    name = "N=512,K=1024,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json"
    assert [path.name for path in folder.iterdir()] == [name]
    assert rows_of(folder / name) == {
        1: {**VLLM, "BLOCK_SIZE_M": 16},
        4: {**VLLM, "BLOCK_SIZE_M": 64},
    }


def test_experts_say_which_triton_compiled_them(storage: str) -> None:
    small(storage, "fused_moe", {"M": 16, **LAYER}, "bf16")
    path = exported(storage, "vllm") / "E=8,N=7168,device_name=NVIDIA_H200.json"
    assert json.loads(path.read_text())["triton_version"] == triton.__version__
    assert rows_of(path) == {16: BLOCKS}


def test_sglangs_files_have_names_and_folders_of_their_own(storage: str) -> None:
    small(storage, "gemm_a8w8_blockscale", {"M": 4, **PRODUCT}, "i8")
    small(storage, "fused_moe", {"M": 16, **LAYER}, "fp32")
    folder = exported(storage, "sglang") / "configs"
    blocks = "N=512,K=1024,device_name=NVIDIA_H200,dtype=int8_w8a8,block_shape=[128, 128].json"
    assert rows_of(folder / blocks) == {4: VLLM}
    versioned = folder / f"triton_{triton.__version__.replace('.', '_')}"
    experts = versioned / "E=8,N=7168,device_name=NVIDIA_H200,dtype=float32.json"
    assert "triton_version" not in json.loads(experts.read_text())  # int() of each key
    assert rows_of(experts) == {16: BLOCKS}


def test_sglang_opens_the_file_of_experts(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = loader(
        "sglang",
        "srt/layers/moe/moe_runner/triton_utils/fused_moe_triton_config.py",
        {"get_config_file_name", "get_moe_configs"},
        {
            **{name: getattr(typing, name) for name in ("Any", "Dict", "Optional")},
            "get_device_name": lambda: "NVIDIA H200",
            "get_exec": lambda: SimpleNamespace(
                deterministic=SimpleNamespace(enable_deterministic_inference=False)
            ),
            "logger": logging.getLogger(),
            "triton": triton,
            "__file__": __file__,
        },
    )
    small(storage, "fused_moe", {"M": 16, **LAYER}, "bf16")
    monkeypatch.setenv("SGLANG_MOE_CONFIG_DIR", str(exported(storage, "sglang")))
    assert undecorated(found["get_moe_configs"])(8, 7168, None) == {16: BLOCKS}


def test_sglang_opens_the_file_of_scaled_products(storage: str) -> None:
    small(storage, "gemm_a8w8_blockscale", {"M": 4, **PRODUCT}, "fp8e4nv")
    folder = exported(storage, "sglang")
    found = loader(
        "sglang",
        "kernels/ops/gemm/fp8_kernel.py",
        {"get_w8a8_block_fp8_configs"},
        {
            **{name: getattr(typing, name) for name in ("Any", "Dict", "Optional")},
            "get_device_name": lambda: "NVIDIA H200",
            "log_info_on_rank0": lambda *args: None,
            "logger": logging.getLogger(),
            "torch": torch,
            "_is_cuda": True,
            "os": os,
            "__file__": str(folder / "fp8_kernel.py"),
        },
    )
    assert undecorated(found["get_w8a8_block_fp8_configs"])(512, 1024, 128, 128) == {4: VLLM}


def test_aiters_files_are_in_todays_layout(storage: str) -> None:
    for m in (1, 64):
        config = {**SCALED, **AMD, "BLOCK_SIZE_M": 16 * m, "NUM_KSPLIT": 4}
        shape = {"M": m, **PRODUCT}
        study_of(storage, MI300X, "gemm_a8w8_blockscale", shape, "fp8e4nv", config)
    family = exported(storage, "aiter") / "gfx942" / "triton" / "gemm" / "gemm_a8w8_blockscale"
    tuned = read_gemm_json(family / "GEMM-A8W8_BLOCKSCALE-N=512-K=1024.json")
    assert {m: config_for(tuned, m)["BLOCK_SIZE_M"] for m in (1, 2, 64, 9000)} == {
        1: 16,
        2: 1024,
        64: 1024,
        9000: 1024,
    }
    assert config_for(tuned, 1)["NUM_KSPLIT"] == 4
    assert read_gemm_json(family / "DEFAULT.json") == tuned


def test_tune_gemm_finds_all_that_its_reader_asks_for(storage: str) -> None:
    for m in (64, 128):
        shape = {"M": m, "N": 128, "K": 256}
        study_of(storage, MI300X, "matmul", shape, "fp16", {**BLOCKS, **AMD})
    path = exported(storage, "tune-gemm") / "tuning_results.yaml"
    # As `process_item` and `read_config` of ROCm's tune_gemm.py do, November 2026.
    for m, entry in zip((64, 128), yaml.safe_load(path.read_text()), strict=True):
        size = [entry.pop(name) for name in ("M", "N", "K", "rowMajorA", "rowMajorB")]
        assert size == [m, 128, 256, "T", "T"]
        read = [entry.get(name) for name in (*BLOCKS, *AMD, "SPLIT_K", "schedule_hint")]
        assert read == [*BLOCKS.values(), *AMD.values(), 1, "none"]


def looked_up(
    path: Path, operation: str, *sizes: tuple[int, ...], dtype: torch.dtype = torch.bfloat16
) -> Mapping[str, Any]:
    """What Inductor's own loader finds for contiguous tensors of these sizes."""
    # Imported late, since it takes seconds.
    from torch._inductor import config as inductor_config
    from torch._inductor.lookup_table.choices import LookupTableChoices

    class Choices(LookupTableChoices):
        """Inductor's, on a machine without a GPU."""

        def _get_lookup_table(self) -> dict[str, list[dict[str, Any]]]:
            return inductor_config.lookup_table.table or {}

        @staticmethod
        @functools.lru_cache
        def _get_device_key(device: torch.device) -> str | None:
            return "NVIDIA H200"

    tensors = [torch.empty(size, dtype=dtype, device="meta") for size in sizes]
    inputs: Any = SimpleNamespace(
        dtypes=lambda: tuple(tensor.dtype for tensor in tensors),
        shapes_hinted=lambda: tuple(tuple(tensor.shape) for tensor in tensors),
        strides_hinted=lambda: tuple(tensor.stride() for tensor in tensors),
        device=lambda: torch.device("cuda:0"),
        _scalars={},
    )
    with inductor_config.patch({"lookup_table.table": json.loads(path.read_text())}):
        template = f"triton::{operation}"
        found = Choices().lookup_template_configs(inputs, operation, [template])
    return found[template][0] if found else {}


def test_inductor_looks_its_products_up(storage: str) -> None:
    small(storage, "matmul", {"M": 64, "N": 128, "K": 200}, "bf16")
    batched = {name: value for name, value in BLOCKS.items() if name != "GROUP_SIZE_M"}
    study_of(
        storage, MI300X, "batched_matmul", {"B": 2, "M": 64, "N": 128, "K": 256}, "bf16", batched
    )
    path = exported(storage, "inductor") / "inductor_table.json"
    template = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}
    template |= {"num_warps": 4, "num_stages": 3}
    found = looked_up(path, "mm", (64, 200), (200, 128))
    assert found == {**template, "EVEN_K": False}
    found = looked_up(path, "bmm", (2, 64, 256), (2, 256, 128))
    assert found == {**template, "EVEN_K": True}
    assert not looked_up(path, "mm", (65, 200), (200, 128))


def test_helion_loads_its_configuration(storage: str) -> None:
    name = small(storage, "matmul", {"M": 64, "N": 128, "K": 200}, "bf16")
    exported(storage, "helion", name)
    path = Path(storage).parent / "out" / name / "helion_config.json"
    expected = {"block_sizes": [64, 128, 64], "l2_groupings": [8], "num_warps": 4, "num_stages": 3}
    assert json.loads(path.read_text()) == expected
    helion = pytest.importorskip("helion", reason="helion is not installed")
    assert dict(helion.Config.load(path)) == expected


def test_of_two_studies_of_one_shape_the_faster_one_counts(storage: str) -> None:
    shape = {"M": 4, **PRODUCT}
    for name, block, time_s in (("grid", 16, 2e-5), ("random", 32, 1e-5)):
        config = {**SCALED, "BLOCK_SIZE_M": block}
        args = (storage, H200, "gemm_a8w8_blockscale", shape, "fp8e4nv", config)
        study_of(*args, time_s=time_s, sampler=name)
    (path,) = exported(storage, "vllm").iterdir()
    assert rows_of(path)[4]["BLOCK_SIZE_M"] == 32


@pytest.mark.parametrize("name", ["vllm", "sglang"])
def test_the_fastest_that_the_consumers_kernel_can_run_is_written(
    storage: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = {"M": 4, **PRODUCT}
    others = [({**SCALED, "BLOCK_SIZE_M": 32}, 1.1e-5), (SCALED, 1.5e-5)]
    winner = {**SCALED, "NUM_KSPLIT": 4}
    study = study_of(
        *(storage, H200, "gemm_a8w8_blockscale", shape, "fp8e4nv", winner), others=others
    )
    (path,) = exported(storage, name, study).rglob("*.json")
    assert rows_of(path)[4]["BLOCK_SIZE_M"] == 32
    said = capsys.readouterr().out
    assert f"{study}: the winner needs NUM_KSPLIT=4, which " in said
    assert "10.0% slower" in said
    assert f"--for {name}" in said


@pytest.mark.parametrize(
    ("format_name", "kernel", "dtype", "changes", "says"),
    [
        ("vllm", "matmul", "fp16", {}, "is about matmul, and vLLM has a place for fused_moe and"),
        ("vllm", "gemm_a8w8_blockscale", "i8", {}, "not in i8: tune it with --dtype fp8e4nv"),
        (
            "vllm",
            "gemm_a8w8_blockscale",
            "fp8e4nv",
            {"NUM_KSPLIT": 4},
            "NUM_KSPLIT=4.*--for vllm",
        ),
        ("sglang", "gemm_a8w8_blockscale", "fp8e5", {}, "fp8e4nv and i8 only, not in fp8e5"),
        ("aiter", "gemm_a8w8_blockscale", "fp8e4nv", {}, "AMD's GPUs only.*--device hip"),
        ("inductor", "matmul", "i8", {}, "is in i8, and Inductor's.*fp32, fp16, bf16"),
        ("helion", "fused_moe", "bf16", {}, "place for matmul only"),
        ("tune-gemm", "fused_moe", "bf16", {}, "place for matmul and split_k_matmul only"),
    ],
)
def test_what_a_format_cannot_hold_is_one_sentence(
    storage: str,
    format_name: str,
    kernel: str,
    dtype: str,
    changes: Mapping[str, ParameterValue],
    says: str,
) -> None:
    sizes = {"M": 16, **(LAYER if kernel == "fused_moe" else PRODUCT)}
    config = Config({**(SCALED if "a8w8" in kernel else BLOCKS), **changes})
    name = study_of(storage, H200, kernel, sizes, dtype, config)
    out = ["--format", format_name, "--storage", storage, "--out", str(Path(storage).parent)]
    with pytest.raises(UnfitStudyError, match=says):
        main([name, *out])
    assert main(out) == 1  # nobody named it


GPU: dict[str, Any] = asdict(H200.gpu)


@pytest.mark.parametrize(
    "written",
    [
        {"triton": "../3.7", "gpu": GPU},
        {"triton": "3.7.1", "gpu": {**GPU, "name": "/etc/x"}},
        {"triton": "3.7.1", "gpu": {**GPU, "arch": 7}},
        {"triton": "3.7.1", "gpu": []},
        None,
    ],
)
def test_a_study_that_names_no_gpu_is_one_sentence(storage: str, written: object) -> None:
    """A storage may be somebody else's, and names of files are made of this."""
    name = small(storage, "fused_moe", {"M": 16, **LAYER}, "bf16")
    study_named(storage, name).set_attribute("measured_on", written)
    with pytest.raises(UnfitStudyError, match="does not say which GPU and which Triton"):
        main([name, "--format", "sglang", "--storage", storage, "--out", storage + ".out"])


def test_parameters_that_are_missing_are_named(
    storage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {name: value for name, value in BLOCKS.items() if name != "num_stages"}
    study_of(storage, H200, "matmul", {"M": 64, **PRODUCT}, "fp16", config)
    assert main(["--format", "inductor", "--storage", storage, "--out", storage + ".out"]) == 1
    assert "left out: " in (said := capsys.readouterr().err)
    assert "has no num_stages, which Inductor's lookup table needs" in said

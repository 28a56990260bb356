"""Our files, opened by their consumers' own loaders, where those packages are.

A package counts if it is installed, or lies in the folder REAL_KERNELS; only its loader's source is
run, since vLLM and AITER need a GPU to be imported.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import itertools
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gpus import H200, MI300X
from test_gpu_files import EXPERTS, PRODUCTS, TAG, listed, tuned

from engine.jobs.config_files import write_default_file, write_group_files
from engine.results.gemm_json import buckets

FOLDER_VARIABLE = "REAL_KERNELS"


def loader(package: str, file: str, names: set[str], known: dict[str, Any]) -> dict[str, Any]:
    """Functions and constants of a package's file, run with what they need of the rest."""
    tree = ast.parse(source_file(package, file).read_text())
    wanted = [node for node in tree.body if names & named_by(node)]
    assert set().union(*map(named_by, wanted)) >= names, "the package has changed"
    module = ast.Module(wanted, type_ignores=[])
    found = {"os": os, "json": json, "functools": functools, **known}
    exec(compile(module, file, "exec", dont_inherit=True), found)
    return found


def named_by(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def source_file(package: str, file: str) -> Path:
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if os.environ.get(FOLDER_VARIABLE):
        folders.append(str(Path(os.environ[FOLDER_VARIABLE], package)))
    for folder in folders:
        if Path(folder, file).is_file():
            return Path(folder, file)
    pytest.skip(f"{package} is not installed, nor in the folder {FOLDER_VARIABLE}")


def test_vllm_opens_the_file_of_scaled_products(tmp_path: Path) -> None:
    file = "model_executor/layers/quantization/utils/fp8_utils.py"
    name = "get_w8a8_block_fp8_configs"
    found = loader(
        "vllm",
        file,
        {name},
        {
            "Any": Any,
            "logger": logging.getLogger(),
            "get_device_name_as_file_name": lambda: "NVIDIA_H200",
            "__file__": str(tmp_path / "fp8_utils.py"),
        },
    )
    _, group = listed(tmp_path, PRODUCTS)
    (_, path), _ = write_group_files(tmp_path, H200, TAG, group, {m: tuned(m) for m in (1, 64)})
    (tmp_path / "configs").symlink_to(path.parent)
    opened = undecorated(found[name])(1024, 7168, 128, 128)
    assert {m: config["BLOCK_SIZE_M"] for m, config in opened.items()} == {1: 16, 64: 1024}


def test_vllm_opens_the_file_of_a_mixture_of_experts(tmp_path: Path) -> None:
    log = logging.getLogger()
    found = loader(
        "vllm",
        "model_executor/layers/fused_moe/fused_moe.py",
        {"get_config_file_name", "get_moe_configs"},
        {
            "Any": Any,
            "envs": SimpleNamespace(
                VLLM_BATCH_INVARIANT=False, VLLM_TUNED_CONFIG_FOLDER=str(tmp_path / "vllm")
            ),
            "logger": SimpleNamespace(
                info_once=lambda *args, **_: log.info(*args),
                warning_once=lambda *args, **_: log.warning(*args),
            ),
            "get_device_name_as_file_name": lambda: "NVIDIA_H200_NVL",
            "__file__": str(tmp_path / "fused_moe.py"),
        },
    )
    _, group = listed(tmp_path, EXPERTS)
    taken = {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps"}
    winner = type(tuned(1))({name: tuned(1)[name] for name in taken})
    write_group_files(tmp_path, H200, "MOE", group, {1: winner, 64: winner})
    opened = undecorated(found["get_moe_configs"])(8, 7168, None)
    assert opened == {1: dict(winner), 64: dict(winner)}


def test_aiter_opens_the_files_of_scaled_products(tmp_path: Path) -> None:
    core = loader(
        "aiter", "ops/triton/utils/core.py", {"load_config_json"}, {"USE_LRU_CACHE": False}
    )
    found = loader(
        "aiter",
        "ops/triton/utils/gemm_config_utils.py",
        {"STANDARD_M_BOUNDS", "_dtype_dir", "_get_gemm_config_cached"},
        {
            "AITER_TRITON_CONFIGS_PATH": str(tmp_path),
            "USE_LRU_CACHE": False,
            "arch_info": SimpleNamespace(get_arch=lambda: "gfx942"),
            "itertools": itertools,
            "load_config_json": core["load_config_json"],
        },
    )
    _, group = listed(tmp_path, PRODUCTS)
    winners = {m: tuned(m) for m in (1, 4, 64)}
    write_group_files(tmp_path, MI300X, TAG, group, winners)
    write_default_file(tmp_path, MI300X, TAG, [buckets(winners)])
    config = undecorated(found["_get_gemm_config_cached"])
    rows = {m: config(f"GEMM-{TAG}", m, 1024, 7168) for m in (1, 2, 5, 5000)}
    assert {m: found["BLOCK_SIZE_M"] for m, (found, _) in rows.items()} == {
        1: 16,
        2: 64,
        5: 1024,
        5000: 1024,
    }
    assert all(is_tuned for _, is_tuned in rows.values())
    other, is_tuned = config(f"GEMM-{TAG}", 1, 512, 512)  # a weight matrix that was not tuned
    assert (other["BLOCK_SIZE_M"], is_tuned) == (16, False)


def undecorated(function: Any) -> Callable[..., Any]:
    """The function under a cache, which would keep what another test's files held."""
    inner: Callable[..., Any] = getattr(function, "__wrapped__", function)
    return inner

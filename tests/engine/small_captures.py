"""Capture files of small programs, and how tests tune them."""

from __future__ import annotations

import json
from typing import Any

import captured_kernels as kernels
import pytest
import torch
from capture_files import CaptureFile

import engine.tune as tune_command

__all__ = ["add_to", "normal", "tune"]


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7)).to(dtype)


def add_to(capture: CaptureFile, n: int = 4096, **fields: Any) -> str:
    values = {"x": normal(n), "y": normal(n), "out": torch.zeros(n), "n": n, "BLOCK": 64}
    return capture.launch(kernels.add_kernel, [-(-n // 64)], values, **fields)


def tune(
    capture: CaptureFile, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The printed record, and its tasks in the order of their launches."""
    assert tune_command.main([str(capture.path), *arguments, "--jobs", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    tasks = {task["key"]: task for task in record["tasks"]}
    return record, [tasks[key] for key in capture.keys]

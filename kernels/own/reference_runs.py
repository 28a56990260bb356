"""Runs a user's kernel without a reference in Triton's interpreter, in a separate process.

The interpreter must be chosen before a kernel is defined, so a process cannot both interpret and
compile kernels.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from foundation.errors import UserError
from foundation.scratch import scratch_folder
from kernels.own.kernel_file import read_kernel_file
from kernels.own.launch import Launch
from kernels.own.strides import copied

__all__ = ["INTERPRETER_LIMIT_S", "interpreted"]

INTERPRETER_LIMIT_S = 120.0


def interpreted(launch: Launch, runs: Sequence[dict[str, Any]]) -> list[dict[str, torch.Tensor]]:
    """The tensors after each of several runs of the kernel.

    Args:
        launch: the kernel, at one shape and configuration.
        runs: the values of the arguments in each run.

    Raises:
        UserError: if the interpreter fails or takes too long.
    """
    path, values = launch.file.path, runs[0]
    for name, value in values.items():
        if isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16:
            raise UserError(
                f"{path}: Triton's interpreter does not support bf16, the type of {name}: "
                "write a function reference"
            )
    job = {
        "path": str(path),
        "kernel": launch.file.kernel,
        "runs": [_copied(run) for run in runs],
        "constants": {**launch.constants(values), **launch.config},
        "grid": launch.grid(values),
        "descriptors": {
            name: (d.shape, d.strides, d.block_shape, d.padding)
            for name, d in launch.descriptors().items()
        },
    }
    return _run(job, path)


def _run(job: dict[str, Any], path: Path) -> list[dict[str, torch.Tensor]]:
    with scratch_folder("interpreter-") as folder:
        given, found = folder / "given", folder / "found"
        torch.save(job, given)
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__, str(given), str(found)],
                env={**os.environ, "TRITON_INTERPRET": "1"},
                capture_output=True,
                text=True,
                timeout=INTERPRETER_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UserError(
                f"{path}: Triton's interpreter did not finish within {INTERPRETER_LIMIT_S:g} s: "
                "write a function reference, or give --shape smaller sizes"
            ) from None
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"]
            raise UserError(f"{path}: Triton's interpreter cannot run the kernel: {last[0]}")
        return list(torch.load(found, weights_only=False))


def _interpret(given: Path, found: Path) -> None:
    """In the separate process: do the runs in `given`, and write their tensors to `found`."""
    job = torch.load(given, weights_only=False)
    kernel = read_kernel_file(Path(job["path"]), job["kernel"]).function
    for values in job["runs"]:
        described = {n: TensorDescriptor(values[n], *d) for n, d in job["descriptors"].items()}
        kernel[job["grid"]](**{**values, **described}, **_not_in(job["constants"], values))
    torch.save([_tensors(values) for values in job["runs"]], found)


def _copied(values: dict[str, Any]) -> dict[str, Any]:
    """The values with tensors of their own: what one run changes is no other's start."""
    return {n: copied(v) if isinstance(v, torch.Tensor) else v for n, v in values.items()}


def _tensors(values: dict[str, Any]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}


def _not_in(constants: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in constants.items() if name not in values}


if __name__ == "__main__":
    _interpret(Path(sys.argv[1]), Path(sys.argv[2]))

"""Runs a user's kernel without a reference in Triton's interpreter, in a separate process.

The interpreter must be chosen before a kernel is defined, so a process cannot both interpret and
compile kernels.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from foundation.errors import UserError
from foundation.scratch import scratch_folder
from kernels.own.kernel_file import read_kernel_file
from kernels.own.launch import Launch

__all__ = ["interpreted_outputs"]

_TIMEOUT_S = 120


def interpreted_outputs(launch: Launch) -> dict[str, torch.Tensor]:
    """The tensors that the kernel changes, with their contents after the run.

    Raises:
        UserError: if the interpreter fails or takes too long, or if the kernel changes nothing.
    """
    path, values = launch.file.path, launch.values()
    for name, value in values.items():
        if isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16:
            raise UserError(
                f"{path}: Triton's interpreter does not support bf16, the type of {name}: "
                "write a function reference"
            )
    job = {
        "path": str(path),
        "kernel": launch.file.kernel,
        "values": values,
        "constants": {**launch.constants(values), **launch.config},
        "grid": launch.grid(values),
    }
    after = _run(job, path)
    changed = {n: tensor for n, tensor in after.items() if not _same_bits(values[n], tensor)}
    if not changed:
        raise UserError(f"{path}: in Triton's interpreter the kernel changes none of its arguments")
    return changed


def _run(job: dict[str, Any], path: Path) -> dict[str, torch.Tensor]:
    with scratch_folder("interpreter-") as folder:
        given, found = folder / "given", folder / "found"
        torch.save(job, given)
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__, str(given), str(found)],
                env={**os.environ, "TRITON_INTERPRET": "1"},
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UserError(
                f"{path}: Triton's interpreter did not finish within {_TIMEOUT_S} s: write a "
                "function reference, or give --shape smaller sizes"
            ) from None
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"]
            raise UserError(f"{path}: Triton's interpreter cannot run the kernel: {last[0]}")
        return dict(torch.load(found, weights_only=False))


def _interpret(given: Path, found: Path) -> None:
    """In the separate process: run the job in `given`, and write its tensors to `found`."""
    job = torch.load(given, weights_only=False)
    kernel = read_kernel_file(Path(job["path"]), job["kernel"]).function
    kernel[job["grid"]](**job["values"], **_not_in(job["constants"], job["values"]))
    tensors = {n: v for n, v in job["values"].items() if isinstance(v, torch.Tensor)}
    torch.save(tensors, found)


def _not_in(constants: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in constants.items() if name not in values}


def _same_bits(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Whether the two have the same bits; NaN is equal to itself."""
    return torch.equal(before.flatten().view(torch.uint8), after.flatten().view(torch.uint8))


if __name__ == "__main__":
    _interpret(Path(sys.argv[1]), Path(sys.argv[2]))

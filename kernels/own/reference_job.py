"""Runs a kernel on each of several values: what a process of its own does for `reference_runs`."""

from __future__ import annotations

import math
import os
import resource
import time
from pathlib import Path
from typing import Any

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels.own.kernel_file import read_kernel_file

__all__ = ["run_job"]


def run_job(given: Path, found: Path) -> None:
    """Do the runs in the file `given`, and write their tensors to `found`.

    Whether Triton interprets is in the environment, since before Triton was imported.
    """
    job = torch.load(given, weights_only=False)
    if os.environ["TRITON_INTERPRET"] == "1":
        _wrap_floats()
    elif not any(_is_on_gpu(value) for value in job["runs"][0]["values"].values()):
        import triton_rvv

        triton_rvv.activate("host")
    kernel = read_kernel_file(Path(job["path"]), job["kernel"]).function
    for run in job["runs"]:
        _limit_processor_time(job["cpu_limit_s"])
        values = run["values"]
        described = {n: TensorDescriptor(values[n], *d) for n, d in run["descriptors"].items()}
        kernel[run["grid"]](**{**values, **described}, **_not_in(run["constants"], values))
    torch.save([_tensors(run["values"]) for run in job["runs"]], found)


def _limit_processor_time(limit_s: int) -> None:
    """Have the system end this process by SIGXCPU after so many seconds more; 0 for no limit."""
    if limit_s:
        used_s = math.ceil(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (used_s + limit_s, resource.RLIM_INFINITY))


def _wrap_floats() -> None:
    """Have the interpreter pass numbers as what they are in a compiled kernel: `eps.to(...)`."""
    import numpy as np
    import triton.language as tl
    from triton.runtime import interpreter

    convert = interpreter._implicit_cvt

    def wrapped(value: Any) -> Any:
        if isinstance(value, float):
            number = np.array([value], dtype=np.float32)
            return tl.tensor(interpreter.TensorHandle(number, tl.float32), tl.float32)
        return convert(value)

    interpreter._implicit_cvt = wrapped


def _is_on_gpu(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "cuda"


def _tensors(values: dict[str, Any]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}


def _not_in(constants: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in constants.items() if name not in values}

"""Runs the default configuration of a kernel without a reference, in a separate process.

The interpreter must be chosen before a kernel is defined, so a process cannot both interpret and
compile kernels; and a kernel that is compiled may end its process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from foundation.scratch import scratch_folder
from kernels.own.kernel_file import read_kernel_file
from kernels.own.launch import Launch
from kernels.own.strides import copied, memory_of, view_of

__all__ = ["REFERENCE_LIMIT_S", "RunFailed", "Way", "runs", "ways_of", "widened"]

_LIMIT_S = 120.0
_NARROW = (torch.bfloat16, torch.float16)
_KILLED = "the process ended"


class RunFailed(Exception):
    """A kernel could not be run; the message says why."""


@dataclass(frozen=True)
class Way:
    """How expected outputs are computed.

    Args:
        interprets: by Triton's interpreter; else compiled, for a GPU if the tensors are there, and
            for this machine's processor if not.
        widens: with fp16 and bf16 as fp32.
        what: the same for the user.
    """

    interprets: bool
    widens: bool
    what: str


# The interpreter shares no compiler with what is measured, so its word counts first. It lacks bf16
# and libdevice, and compiled code lacks neither.
_WAYS = (
    Way(True, True, "what Triton's interpreter computes"),
    Way(False, True, "what its default configuration computes in fp32, compiled for this machine"),
    Way(False, False, "what its default configuration computes, compiled for this machine"),
)
# Each way may run out of time.
REFERENCE_LIMIT_S = len(_WAYS) * _LIMIT_S


def ways_of(values: Mapping[str, Any]) -> tuple[Way, ...]:
    """The ways to try, in their order.

    Args:
        values: of the arguments, by name.
    """
    tensors = (value for value in values.values() if isinstance(value, torch.Tensor))
    return _WAYS if any(tensor.dtype in _NARROW for tensor in tensors) else _WAYS[:2]


def widened(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with tensors of fp16 and bf16 in fp32, with the same strides."""
    return {name: _wide(value) for name, value in values.items()}


def _wide(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype not in _NARROW:
        return value
    return view_of(memory_of(value).float(), value)


def runs(
    launch: Launch, values: Sequence[Mapping[str, Any]], way: Way
) -> list[dict[str, torch.Tensor]]:
    """The tensors after each of several runs of the kernel; in fp32 if the way widens them.

    Args:
        launch: the kernel, at one shape and configuration.
        values: the values of the arguments in each run.
        way: how to run it.

    Raises:
        RunFailed: if it fails or takes too long.
        UserError: for a mistake in the file.
    """
    first = dict(values[0])
    job = {
        "path": str(launch.file.path),
        "kernel": launch.file.kernel,
        "runs": [_copied(widened(each) if way.widens else each) for each in values],
        "constants": {**launch.constants(first), **launch.config},
        "grid": launch.grid(first),
        "descriptors": {
            name: (d.shape, d.strides, d.block_shape, d.padding)
            for name, d in launch.descriptors().items()
        },
    }
    return _run(job, way)


def _run(job: dict[str, Any], way: Way) -> list[dict[str, torch.Tensor]]:
    with scratch_folder("reference-") as folder:
        given, found = folder / "given", folder / "found"
        torch.save(job, given)
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__, str(given), str(found)],
                env={**os.environ, "TRITON_INTERPRET": "1" if way.interprets else "0"},
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RunFailed(f"it did not finish within {_LIMIT_S:g} s") from None
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() if done.returncode > 0 else []
            raise RunFailed((lines or [f"{_KILLED} with status {done.returncode}"])[-1])
        return list(torch.load(found, weights_only=False))


def _run_job(given: Path, found: Path) -> None:
    """In the separate process: do the runs in `given`, and write their tensors to `found`."""
    job = torch.load(given, weights_only=False)
    if os.environ["TRITON_INTERPRET"] == "1":
        _wrap_floats()
    elif not any(_is_on_gpu(value) for value in job["runs"][0].values()):
        import triton_rvv

        triton_rvv.activate("host")
    kernel = read_kernel_file(Path(job["path"]), job["kernel"]).function
    for values in job["runs"]:
        described = {n: TensorDescriptor(values[n], *d) for n, d in job["descriptors"].items()}
        kernel[job["grid"]](**{**values, **described}, **_not_in(job["constants"], values))
    torch.save([_tensors(values) for values in job["runs"]], found)


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


def _copied(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with tensors of their own: what one run changes is no other's start."""
    return {n: copied(v) if isinstance(v, torch.Tensor) else v for n, v in values.items()}


def _tensors(values: dict[str, Any]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}


def _not_in(constants: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in constants.items() if name not in values}


if __name__ == "__main__":
    _run_job(Path(sys.argv[1]), Path(sys.argv[2]))

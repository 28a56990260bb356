"""Runs the default configuration of a kernel without a reference, in a separate process.

The interpreter must be chosen before a kernel is defined, so a process cannot both interpret and
compile kernels; and a kernel that is compiled may end its process.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from foundation.scratch import scratch_folder
from foundation.strides import copied, memory_of, view_of
from kernels.own.kept_runs import is_slow, keep_slow, kept_runs
from kernels.own.kernel_file import KernelFile
from kernels.own.launch import Launch
from kernels.own.reference_process import ReferenceProcess
from kernels.source_digest import source_digest
from triton_rvv.errors import OutOfBoundsError

__all__ = [
    "NARROW",
    "REFERENCE_LIMIT_S",
    "RunFailed",
    "Way",
    "access_astray",
    "checked_runs",
    "runs",
    "ways_of",
    "widened",
]

_LIMIT_S = 120.0
_ASTRAY_LIMIT_S = 20  # of processor time: on a busy machine, imports alone take as long
# Of processor time, for one run. The interpreter runs programs one by one, each operation as a call
# of NumPy; a check takes some ten runs.
_INTERPRETER_LIMIT_S = 5
_SLOW = f"a run takes Triton's interpreter longer than {_INTERPRETER_LIMIT_S} s"
NARROW = (torch.bfloat16, torch.float16)
_SANITIZE = "TRITON_RVV_SANITIZE"
_PROCESS = ReferenceProcess()


class RunFailed(Exception):
    """A kernel could not be run; the message says why."""


class _SlowError(Exception):
    """A run in the interpreter takes too much processor time."""


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
    return _WAYS if any(tensor.dtype in NARROW for tensor in tensors) else _WAYS[:2]


def widened(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with tensors of fp16 and bf16 in fp32, with the same strides."""
    return {name: _wide(value) for name, value in values.items()}


def _wide(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype not in NARROW:
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
    shared = {
        "constants": {**launch.constants(first), **launch.config},
        "grid": launch.grid(first),
        "descriptors": _described(launch),
    }
    digest = source_digest([launch.file.function])
    job = repr((launch.file.load_name, digest, way, shared, os.environ.get(_SANITIZE)))
    starts = [widened(v) if way.widens else v for v in values]

    def run(numbers: list[int]) -> list[dict[str, torch.Tensor]]:
        each = [{"values": _copied(starts[number]), **shared} for number in numbers]
        return _run(launch.file, each, way.interprets, {})

    kinds = repr((job, [(n, _kind(value)) for n, value in starts[0].items()]))
    if way.interprets and is_slow(kinds):
        raise RunFailed(_SLOW)
    try:
        return kept_runs(job, starts, run)
    except _SlowError:
        keep_slow(kinds)
        raise RunFailed(_SLOW) from None


def checked_runs(launches: Sequence[Launch]) -> list[dict[str, torch.Tensor]]:
    """The tensors after a run of each of several launches of a kernel, compiled for this machine.

    Args:
        launches: of one file, without tensor descriptors.

    Raises:
        RunFailed: if one fails, takes too long, or accesses memory outside of its tensors.
        UserError: for a mistake in the file.
    """
    each = []
    for launch in launches:
        values = launch.values()
        constants = {**launch.constants(values), **launch.config}
        grid = launch.grid(values)
        each.append({"values": values, "constants": constants, "grid": grid, "descriptors": {}})
    return _run(launches[0].file, each, False, {_SANITIZE: "1"})


def access_astray(launch: Launch) -> str:
    """The first access outside of its tensor, with its line, its byte and its program; "" if there
    is none, or if it is not found in time.

    Raises:
        UserError: for a mistake in the file.
    """
    values = launch.values()
    run = {
        "values": values,
        "constants": {**launch.constants(values), **launch.config},
        "grid": launch.grid(values),
        "descriptors": _described(launch),
    }
    try:
        _run(launch.file, [run], False, {_SANITIZE: "1"}, _ASTRAY_LIMIT_S)
    except (RunFailed, _SlowError) as failed:
        return str(failed).partition(f"{OutOfBoundsError.__name__}: ")[2]
    return ""


def _described(launch: Launch) -> dict[str, Any]:
    return {
        name: (d.shape, d.strides, d.block_shape, d.padding)
        for name, d in launch.descriptors().items()
    }


def _run(
    file: KernelFile,
    runs_of_it: list[dict[str, Any]],
    interprets: bool,
    more: Mapping[str, str],
    cpu_limit_s: int = 0,
) -> list[dict[str, torch.Tensor]]:
    job = {
        "path": str(file.path),
        "kernel": file.kernel,
        "runs": runs_of_it,
        "cpu_limit_s": _INTERPRETER_LIMIT_S if interprets else cpu_limit_s,
    }
    with scratch_folder("reference-") as folder:
        given, found, errors = folder / "given", folder / "found", folder / "errors"
        torch.save(job, given)
        environment = {**os.environ, "TRITON_INTERPRET": "1" if interprets else "0", **more}
        try:
            status = _PROCESS.run(given, found, errors, environment, _LIMIT_S)
        except TimeoutError:
            raise RunFailed(f"it did not finish within {_LIMIT_S:g} s") from None
        if status == -signal.SIGXCPU:
            raise _SlowError
        if status != 0:
            raise RunFailed([_ending(status), *_lines_of(errors)][-1 if status > 0 else 0])
        return list(torch.load(found, weights_only=False))


def _ending(status: int) -> str:
    """How a process ended, for the user."""
    if status >= 0:
        return f"the process ended with status {status}"
    name = signal.Signals(-status).name
    if -status not in (signal.SIGSEGV, signal.SIGBUS):
        return f"{name} ended its process"
    return f"{name} ended its process: {_SANITIZE}=1 before the command finds the access"


def _kind(value: Any) -> object:
    return (value.dtype, value.shape) if isinstance(value, torch.Tensor) else type(value)


def _lines_of(errors: Path) -> list[str]:
    return errors.read_text(errors="replace").strip().splitlines() if errors.exists() else []


def _copied(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with tensors of their own: what one run changes is no other's start."""
    return {n: copied(v) if isinstance(v, torch.Tensor) else v for n, v in values.items()}

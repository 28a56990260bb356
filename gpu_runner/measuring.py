"""The process that owns a GPU's context: python -m gpu_runner.measuring, started by the board."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import cast

import torch
from triton.runtime.errors import OutOfResources

from foundation.config import Config
from foundation.errors import FileMistake, UserError
from foundation.parent import end_with_parent
from foundation.values_read import ByValuesRead
from gpu_runner.artifact import ArgumentsSource, GpuArtifact
from gpu_runner.conditions import GpuWatch
from gpu_runner.device_arrays import DamagedMemory, DeviceArguments, Errors, Mismatch
from gpu_runner.loaded_kernel import LoadedKernel
from gpu_runner.lock import measuring_on
from gpu_runner.names import Timing
from gpu_runner.protocol import Expected, Opened, Prepared, Report, Request
from gpu_runner.timing import Timer

__all__ = ["main"]

_MOST_PROBLEMS = 16  # whose arguments are kept

# What CUDA and ROCm say when the GPU, and not the kernel, is at fault.
_GPU_FAULTS = (
    "uncorrectable ecc",
    "no cuda-capable device",
    "gpu is lost",
    "busy or unavailable",
    "driver shutting down",
    "system not yet initialized",
    "nvlink",
)

# What a process without arrays may hold of the GPU's memory, and what others hold without harm.
_HARMLESS_BYTES, _HARMLESS_PART = 1 << 30, 1 / 16


@dataclass(frozen=True)
class _Arguments:
    """A kernel's arguments in the GPU's memory, twice: what is right for some inputs only is wrong.

    Args:
        checked: for the run whose outputs are checked first.
        timed: for the timed runs and the check after them; with other contents.
    """

    checked: DeviceArguments
    timed: DeviceArguments


@dataclass(frozen=True)
class _Context:
    """What the process keeps between measurements.

    Args:
        device: torch's name of the GPU.
        timer: how launches are timed.
        watch: sees other programs and throttling.
        lock: the GPU's, by a name that every program knows it by.
        arguments: of each problem, by the source that makes them.
    """

    device: str
    timer: Timer
    watch: GpuWatch
    lock: str
    arguments: dict[ArgumentsSource, ByValuesRead[_Arguments]]


def main(descriptor: int, number: int, timing: Timing) -> None:
    """Measure what is asked for until the connection is closed.

    Args:
        descriptor: of a socket to the board.
        number: of the GPU among those that this process sees.
        timing: how kernels are timed.
    """
    end_with_parent()
    connection = Connection(descriptor)
    watch = GpuWatch(number)  # before this process is among those that use the GPU
    torch.cuda.set_device(number)
    facts = torch.cuda.get_device_properties(number)
    timer = Timer(timing, facts.L2_cache_size)
    context = _Context(f"cuda:{number}", timer, watch, f"gpu-{facts.uuid}", {})
    watch.know_own_process()
    connection.send(Opened(watch.notes))
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        if isinstance(request, Expected):
            _expect(context, request)
            continue
        report = _report(context, request, connection)
        connection.send(report)
        if report.ends:
            # Whatever is still in the GPU's queue, the context is beyond an orderly end.
            os._exit(0)


def _expect(context: _Context, expected: Expected) -> None:
    """Make arguments ahead; what fails now fails again, with its reason, when it is needed."""
    with contextlib.suppress(Exception):
        for source in pickle.loads(expected.sources)[:_MOST_PROBLEMS]:
            _arguments_of(context, source, pickle.loads(expected.config))


def _report(context: _Context, request: Request, connection: Connection) -> Report:
    """The outcome of a request; it does not raise."""
    try:
        return _with_room(context, request, connection)
    except DamagedMemory as wrong:
        context.arguments.clear()
        return Report("wrong", str(wrong))
    except Mismatch as wrong:
        return Report("wrong", str(wrong), max_abs_error=wrong.max_abs_error)
    except OutOfResources as error:
        return Report("runtime", _first_line(error))
    except FileMistake as error:
        return Report("mistake", str(error))
    except RuntimeError as error:  # of CUDA, through torch or Triton
        return _without_room(error) if _is_of_memory(error) else _fault(error)
    except Exception as error:  # a bug here says nothing about the configuration
        return Report("board", f"{type(error).__name__}: {_first_line(error)}", ends=True)


def _with_room(context: _Context, request: Request, connection: Connection) -> Report:
    """Measure; where the GPU's memory runs out, again without the arguments of other problems."""
    try:
        return _measured(context, request, connection)
    except RuntimeError as error:
        if not _is_of_memory(error):
            raise
    context.arguments.clear()
    torch.cuda.empty_cache()
    return _measured(context, request, connection)


def _measured(context: _Context, request: Request, connection: Connection) -> Report:
    artifact: GpuArtifact = pickle.loads(request.artifact)
    arguments = _arguments_of(context, artifact.source, artifact.config)
    kernel = LoadedKernel(artifact)
    launch = kernel.launcher(arguments.timed)
    with measuring_on(context.lock) as turn:
        connection.send(Prepared())
        start_s = time.monotonic()
        errors = _checked(kernel.launcher(arguments.checked), arguments.checked)
        if not request.repeats:
            return _correct(errors, kernel.needs)
        restore = arguments.timed.restore
        times_s = context.timer.times_s(launch, restore, request.repeats, context.watch)
        doubt = context.watch.stop()
        # A race between programs may show in a later run only.
        errors = errors.or_more(_checked(launch, arguments.timed))
    conditions = {**kernel.needs, **context.watch.conditions, **turn.conditions}
    return replace(
        _correct(errors, conditions),
        times_s=times_s,
        doubt=doubt,
        wall_s=time.monotonic() - start_s,
    )


def _correct(errors: Errors, conditions: Mapping[str, float | str]) -> Report:
    return Report(
        "correct",
        max_abs_error=errors.largest,
        max_share=errors.share,
        conditions=conditions,
    )


def _checked(launch: Callable[[], None], arguments: DeviceArguments) -> Errors:
    """The errors of one run.

    Raises:
        Mismatch: if an output is wrong.
    """
    arguments.poison()
    launch()
    torch.cuda.synchronize()
    return arguments.check()


def _arguments_of(context: _Context, source: ArgumentsSource, config: Config) -> _Arguments:
    """The arguments in the GPU's memory, made once for configurations that share them."""
    known = context.arguments.get(source)
    if known is None:
        while len(context.arguments) >= _MOST_PROBLEMS:
            del context.arguments[next(iter(context.arguments))]
        known = ByValuesRead(functools.partial(_made, source, context.device))
        context.arguments[source] = known
    return known(config)


def _made(source: ArgumentsSource, device: str, config: Config) -> _Arguments:
    try:
        checked = source.make(config, device)
        timed = source.make_timed(config, device, checked)
    except UserError as error:
        raise FileMistake(str(error)) from error
    except Exception as error:
        if _is_of_memory(error) or _is_the_gpus(error):
            raise
        what = f"{type(error).__name__}: {_first_line(error)}"
        raise FileMistake(f"the arguments cannot be made: {what}") from error
    first = DeviceArguments(checked, device)
    try:
        return _Arguments(first, DeviceArguments(timed, device))
    except torch.cuda.OutOfMemoryError:
        return _Arguments(first, first)  # what fits once has to do


def _fault(error: RuntimeError) -> Report:
    """The report of an error after which the context is of no use."""
    return Report("board" if _is_the_gpus(error) else "runtime", _first_line(error), ends=True)


def _without_room(error: RuntimeError) -> Report:
    """The report of a run for which the GPU's memory did not do: others may hold it for a while."""
    reason = f"the GPU's memory ran out: {_first_line(error)}"
    with contextlib.suppress(RuntimeError):  # a spoilt context does not tell
        free_bytes, all_bytes = torch.cuda.mem_get_info()
        others_bytes = all_bytes - free_bytes - torch.cuda.memory_reserved()
        if others_bytes > max(_HARMLESS_BYTES, _HARMLESS_PART * all_bytes):
            held = f"other programs hold {others_bytes / 2**30:.1f} GiB of it"
            return Report("board", f"{reason}; {held}", ends=True)
    return Report("runtime", reason, ends=True)


def _is_of_memory(error: Exception) -> bool:
    """Whether torch, Triton or CUDA itself got no memory on the GPU."""
    is_cudas = isinstance(error, RuntimeError) and "out of memory" in _first_line(error).lower()
    return is_cudas or isinstance(error, torch.cuda.OutOfMemoryError)


def _is_the_gpus(error: Exception) -> bool:
    reason = _first_line(error).lower()
    return any(sign in reason for sign in _GPU_FAULTS)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


if __name__ == "__main__":
    # The board's process names one of the ways.
    main(int(sys.argv[1]), int(sys.argv[2]), cast(Timing, sys.argv[3]))

"""Puts a study's winner where `@triton.autotune` finds it, so that it measures nothing.

Triton keeps what its autotuner measured as {kernel}.autotune.json below TRITON_CACHE_DIR, if
TRITON_CACHE_AUTOTUNING=1 is set or the decorator has `cache_results=True`. The key has parts that
change with Triton's version, so Triton's own autotuner makes it and writes the file here.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import triton
from triton.runtime import autotuner

from engine.study.location import DEFAULT_STORAGE
from engine.winners.lookup import Found, find, wanted
from foundation.config import Config
from foundation.errors import UserError
from foundation.shapes import Shape, shape_text
from foundation.triton_options import as_triton_config
from kernels.own.configurations import pruned_configs, tuned_values
from kernels.own.kernel_file import KernelFile, read_kernel_file
from kernels.own.kernel_path import split_path
from kernels.own.launch import Launch
from kernels.registry import is_kernel_file
from rvv_runner.devices import HOST_DEVICE

__all__ = ["write_autotune_cache"]


def write_autotune_cache(
    kernel: str,
    shape: Shape,
    *,
    dtype: str | None = None,
    device: str = HOST_DEVICE,
    storage: str = DEFAULT_STORAGE,
) -> tuple[Found, Path]:
    """Write what the autotuner of a user's kernel reads when it is called with this shape.

    The file holds the time of every configuration that the study measured, the winner the fastest.
    It serves calls of this process's Triton, on the GPU that is its current one or on the host.

    Args:
        kernel: path of a Python file whose kernel is under `@triton.autotune`.
        shape: sizes as in `engine.lookup`.
        dtype: element type; None for the kernel's first.
        device: the device whose study is used, and on which the program runs.
        storage: where studies are stored.

    Returns:
        The winner, and the path of the file.

    Raises:
        NotTunedError: if nothing is stored for the kernel, element type and device.
        UserError: if the kernel has no autotuner to read the file, or the shape has no study of
            its own.
    """
    if not is_kernel_file(kernel):
        raise UserError(f"{kernel} is not under @triton.autotune: give the path of a file that is")
    file = read_kernel_file(*split_path(kernel))
    if file.tuner is None:
        raise UserError(f"the kernel {file.name} of {file.path} is not under @triton.autotune")
    found = find(wanted(kernel, shape, dtype, device), storage)
    if found.how != "exact":
        raise UserError(
            f"{file.name} was not tuned at {shape_text(found.wanted.shape)}: run engine.tune with "
            f"--shape {shape_text(found.wanted.shape)} first"
        )
    values = Launch(file, found.wanted.shape, found.wanted.dtype, found.config).values()
    if device == HOST_DEVICE:
        import triton_rvv

        triton_rvv.activate("host")
    return found, _written(file, values, found)


def _written(file: KernelFile, values: Mapping[str, Any], found: Found) -> Path:
    """Let the kernel's own autotuner write its file, with the study's times for its own."""
    tuner = file.tuner
    known = {**found.wanted.shape, **values}
    listed = pruned_configs(file, known)
    if any(config.pre_hook for config in listed):
        raise UserError(f"{file.path}: a configuration has a pre_hook, which Triton does not cache")
    key = _tuning_key(tuner, values)
    if not key:
        raise UserError(f"{file.path}: @triton.autotune has an empty key: Triton caches nothing")

    def measured() -> None:
        tuner.configs_timings = {
            _plain(entry): [time_s * 1e3] * 3
            for entry, time_s in _times_s(file, listed, known, found)
        }

    with _always_written() as paths:
        tuner.check_disk_cache(key, listed, measured)
    (path,) = paths
    return path


def _times_s(
    file: KernelFile, listed: list[triton.Config], known: Mapping[str, Any], found: Found
) -> Iterator[tuple[triton.Config, float]]:
    """The time of each listed configuration, and of the winner if it is not listed.

    Infinity stands for those that failed or were not measured. The winner of the comparison is the
    fastest, whatever single runs said.
    """
    times_s, winner = found.winner.times_s, found.config
    names = [name for name in winner if name not in file.function.arg_names]
    fastest_s = min(found.winner.time_s, *times_s.values())
    is_listed = False
    for entry in listed:
        config = tuned_values(file, entry, known, names)
        is_listed = is_listed or config == winner
        yield entry, fastest_s if config == winner else _slower(times_s, config, fastest_s)
    if not is_listed:
        yield as_triton_config(winner), fastest_s


def _slower(times_s: Mapping[Config, float], config: Config, fastest_s: float) -> float:
    time_s = times_s.get(config, math.inf)
    return time_s if time_s > fastest_s else math.nextafter(fastest_s, math.inf)


def _tuning_key(tuner: Any, values: Mapping[str, Any]) -> tuple[object, ...]:
    """What the autotuner tells calls apart by, for one with these arguments in their order."""
    sizes = [values[name] for name in tuner.keys if name in values]
    types = [str(value.dtype) for value in values.values() if isinstance(value, torch.Tensor)]
    return (*sizes, *types) if sizes or types else ()


def _plain(entry: triton.Config) -> triton.Config:
    """Without what an entry has beside Triton's own: a file's are read here with more options."""
    names = inspect.signature(triton.Config).parameters
    return triton.Config(**{name: getattr(entry, name) for name in names})


@contextmanager
def _always_written() -> Iterator[list[Path]]:
    """Within the block, Triton finds no file of an autotuner and writes one; yields its path."""
    real, paths = autotuner.get_cache_manager, []

    class Fresh:
        def __init__(self, key: str) -> None:
            self._manager = real(key)

        def get_file(self, name: str) -> None:
            return None

        def put(self, data: str, name: str, binary: bool = True) -> None:
            paths.append(Path(self._manager.put(data, name, binary=binary)))

    autotuner.get_cache_manager = Fresh
    try:
        yield paths
    finally:
        autotuner.get_cache_manager = real

"""Runs of a user's kernel, where torch makes its tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import triton

from foundation.config import Config
from foundation.scratch import scratch_folder
from gpu_runner.device_arrays import DeviceArguments
from gpu_runner.loaded_kernel import allocate
from kernels.own.device_run import DeviceRun
from kernels.own.host_run import HostRun
from kernels.own.own_launches import OwnLaunches
from kernels.spec import Problem

__all__ = ["OwnRuns"]


class OwnRuns(OwnLaunches):
    """Runs a configuration of a file's kernel on this machine or its GPU."""

    @contextlib.contextmanager
    def _run(self, problem: Problem, config: Config) -> Iterator[HostRun | DeviceRun]:
        """Of a configuration where torch makes its tensors."""
        with scratch_folder("own-run-") as folder:
            yield self._run_in(folder, problem, config)

    def _run_in(self, folder: Path, problem: Problem, config: Config) -> HostRun | DeviceRun:
        if torch.get_default_device().type == "cuda":
            return self._device_run(problem, config, self._file.function)
        return self._host_run(problem, config, folder)

    def _host_run(self, problem: Problem, config: Config, folder: Path) -> HostRun:
        constants, grid = problem.constants(config), self.grid(problem, config)
        blocks = self.blocks(problem, config)
        return HostRun(folder, self._file.function, constants, blocks, grid)

    def _device_run(self, problem: Problem, config: Config, function: Any) -> DeviceRun:
        constants, blocks = problem.constants(config), self.blocks(problem, config)
        kernel = function[self.grid(problem, config)]
        options = problem.launch_options(config)
        names = [name for name in function.arg_names if name not in constants]

        def launcher(memory: DeviceArguments) -> Callable[[], object]:
            passed = {
                name: memory.descriptor(name, blocks[name])
                if name in blocks
                else memory.value(name)
                for name in names
            }
            return partial(kernel, **passed, **constants, **options)

        triton.set_allocator(allocate)
        return DeviceRun(str(torch.get_default_device()), launcher)

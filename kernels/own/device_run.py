"""Runs a configuration on a GPU, or a callable, with other inputs each time, in this process."""

from __future__ import annotations

from collections.abc import Callable

import torch

from gpu_runner.device_arrays import DamagedMemory, DeviceArguments, Mismatch
from launchers.arguments import Argument

__all__ = ["DeviceRun"]


class DeviceRun:
    """What `HostRun` is on a processor. A run that spoils the GPU's context ends the process.

    Args:
        device: torch's name of it.
        launcher: gives a function that runs on some arguments.

    Attributes:
        gave_up, mismatch, out_of_bounds, is_endless, cpu_s: as of `HostRun`. Whoever started this
            process ends it if a run takes too long, and `time.process_time` has all that runs take.
    """

    gave_up = is_endless = False
    cpu_s = 0.0

    def __init__(
        self, device: str, launcher: Callable[[DeviceArguments], Callable[[], object]]
    ) -> None:
        self._device = device
        self._launcher = launcher
        self.mismatch = self.out_of_bounds = ""

    def is_right(self, arguments: tuple[Argument, ...]) -> bool:
        """Whether it gives what is expected.

        Raises:
            RuntimeError: if the GPU's context is of no more use.
        """
        self.mismatch = self.out_of_bounds = ""
        memory = DeviceArguments(arguments, self._device)
        memory.poison()
        try:
            self._launcher(memory)()
            memory.check()
        except DamagedMemory as wrong:
            self.out_of_bounds = str(wrong)
        except Mismatch as wrong:
            self.mismatch = str(wrong)
        except Exception:  # a callable's own, or Triton's
            if torch.cuda.is_available():
                torch.cuda.synchronize()
        else:
            return True
        return False

"""A GPU in a board's own process; importing this imports no torch, so the GPU is opened at once."""

from __future__ import annotations

import functools
import importlib
import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from foundation.config import Config
from gpu_runner.artifact import ArgumentsSource
from gpu_runner.board import GpuBoard
from gpu_runner.names import gpu_name
from gpu_runner.protocol import Expected
from rvv_runner.board import BoardInfo

__all__ = ["loading_gpu"]

_OF_ARTIFACTS = "kernels.on_device"  # what an artifact holds; importing it takes seconds


def loading_gpu(
    info: BoardInfo, sources: Sequence[ArgumentsSource], first: Config
) -> Callable[[str], GpuBoard]:
    """A picklable function that makes the board of a GPU from its name.

    While the first kernel is being built, the GPU's process makes the arguments of its measurement.

    Args:
        info: of one of the GPUs, which are all alike.
        sources: of the arguments, one for each shape.
        first: the configuration that is measured first.
    """
    expected = Expected(pickle.dumps(tuple(sources)), pickle.dumps(first))
    return functools.partial(_gpu, info, expected)


def _gpu(info: BoardInfo, expected: Expected, device: str) -> GpuBoard:
    name = gpu_name(device)
    assert name is not None
    # While the GPU's own process imports torch, this one imports what the first artifact needs.
    threading.Thread(target=importlib.import_module, args=(_OF_ARTIFACTS,), daemon=True).start()
    return GpuBoard(name, replace(info, name=device), expected)

"""torch on one thread, for short computations."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

__all__ = ["on_one_thread"]


@contextlib.contextmanager
def on_one_thread() -> Iterator[None]:
    """Within the block, torch computes on one thread: others take processor time while they wait,
    on a busy machine many times what the work itself takes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)

"""Memory that arrays give back is kept for the next ones, and given back in the end."""

from __future__ import annotations

from pathlib import Path
from resource import getpagesize

import torch

from kernels.captured.kept_memory import kept_memory

_BYTES = 64 << 20


def held_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()


def test_memory_is_kept_within_the_block_alone() -> None:
    before = held_bytes()
    with kept_memory():
        for _ in range(3):
            torch.zeros(_BYTES, dtype=torch.uint8).fill_(1)
        assert held_bytes() > before + _BYTES // 2
    assert held_bytes() < before + _BYTES // 2
    torch.zeros(_BYTES, dtype=torch.uint8).fill_(1)
    assert held_bytes() < before + _BYTES // 2

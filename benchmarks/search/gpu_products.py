"""Made-up times of matrix products on a GPU, from a cost model written from first principles.

The model is no device's. Its parts are those that make real products rugged: shared memory bounds
stages and resident blocks, registers spill, tiles come in waves, loads are hidden by stages or by
other blocks, and small tiles leave the matrix units idle. Times range over a factor of 100, a few
configurations lie within 5% of the best, and configurations that need too much fail.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from foundation.config import Config

__all__ = ["product_table"]


@dataclass(frozen=True)
class _Device:
    """A made-up GPU; rates are per processor and cycle.

    Args:
        processors: how many run blocks.
        shared_bytes: shared memory of a processor, all of which one block may take.
        multiply_adds: of the matrix units for two-byte elements.
        cache_bytes, memory_bytes: read from the cache and from memory, in bytes.
        latency: of a load in cycles.
    """

    processors: int
    shared_bytes: int
    multiply_adds: float
    cache_bytes: float
    memory_bytes: float
    latency: float


@dataclass(frozen=True)
class _Tile:
    """The values of one configuration."""

    m: int
    n: int
    k: int
    group: int
    warps: int
    stages: int
    split: int

    @property
    def registers(self) -> float:
        """Per thread: the sums, the operands of one step, and addresses."""
        threads = 32 * self.warps
        return 40 + self.m * self.n / threads + 16 * (self.m + self.n) / threads

    def shared_bytes(self, element_bytes: int) -> int:
        """Of all stages in flight."""
        return self.stages * (self.m + self.n) * self.k * element_bytes


def product_table(seed: int, element_bytes: int) -> dict[Config, float | None]:
    """Times of one made-up product on one made-up GPU; None where a block needs too much.

    Args:
        seed: draws the device and the sizes of the product.
        element_bytes: 2 for fp16, 1 for fp8. Products of fp8 may be split along K.
    """
    rng = np.random.default_rng((seed, element_bytes))
    device = _Device(
        processors=int(rng.choice([40, 84, 108, 132])),
        shared_bytes=int(rng.choice([100, 164, 228])) * 1024,
        multiply_adds=float(rng.choice([512, 1024, 2048])),
        cache_bytes=rng.uniform(32, 64),
        memory_bytes=rng.uniform(8, 20),
        latency=rng.uniform(500, 900),
    )
    sizes = [(4096, 4096, 4096), (64, 8192, 4096), (1024, 1024, 8192), (32, 4096, 7168)]
    shape = sizes[int(rng.integers(len(sizes)))]
    table: dict[Config, float | None] = {}
    for config, tile in _tiles(element_bytes):
        cycles = _cycles(tile, shape, device, element_bytes)
        noise = math.exp(rng.normal(0, 0.02))
        table[config] = None if cycles is None else 1e-9 * cycles * noise
    return table


def _tiles(element_bytes: int) -> Iterator[tuple[Config, _Tile]]:
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M", "num_warps", "num_stages", "SPLIT_K")
    splits = (1,) if element_bytes == 2 else (1, 2, 4, 8)
    blocks = (16, 32, 64, 128, 256) if element_bytes == 2 else (16, 32, 64, 128)
    depths = (32, 64, 128) if element_bytes == 2 else (64, 128)
    for row in itertools.product(blocks, blocks, depths, (1, 8), (2, 4, 8), (1, 2, 3, 4), splits):
        yield Config(dict(zip(names, row, strict=True))), _Tile(*row)


def _cycles(
    tile: _Tile, shape: tuple[int, int, int], device: _Device, element_bytes: int
) -> float | None:
    """Cycles of the whole product; None if a block does not fit a processor."""
    rows, columns, depth = shape
    shared = tile.shared_bytes(element_bytes)
    if shared > device.shared_bytes:
        return None
    registers = min(tile.registers, 255)
    threads = 32 * tile.warps
    resident = min(device.shared_bytes // shared, 65536 // int(registers * threads), 32)
    blocks = math.ceil(rows / tile.m) * math.ceil(columns / tile.n)
    waves = math.ceil(blocks * tile.split / (device.processors * resident))
    at_once = min(resident, math.ceil(blocks * tile.split / device.processors))
    steps = math.ceil(depth / tile.k / tile.split)
    ends = 2 * device.latency + tile.m * tile.n * 4 * tile.split**0.5 / device.cache_bytes
    step = _step(tile, device, element_bytes, at_once, _reuse(tile, shape))
    return 3000 + waves * (steps * step + ends)


def _reuse(tile: _Tile, shape: tuple[int, int, int]) -> float:
    """The part of the loads that the cache serves: neighbours share rows and columns."""
    columns = math.ceil(shape[1] / tile.n)
    shared = tile.group if math.ceil(shape[0] / tile.m) >= tile.group else 1
    return 1 - 1 / (1 + shared) - 0.3 * (columns < 4)


def _step(tile: _Tile, device: _Device, element_bytes: int, at_once: int, reuse: float) -> float:
    """Cycles of one step along K for all blocks that are resident at once."""
    multiply_adds = tile.m * tile.n * tile.k
    rate = device.multiply_adds * (2 / element_bytes)
    # A warp feeds the matrix units with its part of the tile; a small part leaves them waiting.
    part = tile.m * tile.n / tile.warps
    busy = part / (part + 512) * min(1.0, at_once * tile.warps / 4)
    spilled = max(0.0, tile.registers - 255)
    compute = at_once * multiply_adds / (rate * busy) * (1 + spilled / 24)
    line = min(1.0, tile.k * element_bytes / 128)
    traffic = at_once * (tile.m + tile.n) * tile.k * element_bytes / line
    loads = traffic * (reuse / device.cache_bytes + (1 - reuse) / device.memory_bytes)
    # Stages in flight hide the latency; one stage waits for it, unless other blocks run meanwhile.
    if tile.stages == 1:
        return max(compute + loads + device.latency / at_once, compute, loads)
    return max(compute, loads, (device.latency + loads / at_once) / (tile.stages - 1)) + 40

"""What memory holds at first, and how it is forgotten."""

from __future__ import annotations

import numpy as np
from fuzz_numbers import KINDS, UNKNOWN, Block, round_to

__all__ = ["blur", "filled"]


def filled(kind_name: str, fill: str, size: int, seed: int) -> Block:
    """A buffer's first contents."""
    kind, random = KINDS[kind_name], np.random.default_rng(seed)
    if kind.family == "bool":
        return Block.exact(kind, random.integers(0, 2, size))
    if fill in ("small", "islands") or (kind.is_float and fill == "bits"):
        low = 0 if kind.family == "unsigned" else -7
        values = random.integers(low, 8, size).astype(np.float64)
        if fill == "bits":
            odd = [np.nan, np.inf, -np.inf, -0.0, kind.largest, -kind.largest]
            odd += [2.0 ** (kind.least_exponent - 2), 0.5, 1.0]
            usable = odd[0 if kind.name != "float8e4nv" else 3 :]
            if kind.saturates:
                usable = [x for x in usable if not np.isinf(x)]
            values = np.where(random.random(size) < 0.3, random.choice(usable, size), values)
        if fill == "islands" and kind.is_float:
            values[random.integers(0, size) :][: size // 8] = np.nan
        return Block.exact(kind, values)
    if kind.is_float:
        return Block.exact(kind, round_to(kind, random.standard_normal(size)))
    limits = np.iinfo(kind.numpy)
    values = random.integers(limits.min, limits.max, size, kind.numpy, endpoint=True)
    edges = np.array([limits.min, limits.max, 0, 1], kind.numpy)
    return Block.exact(
        kind, np.where(random.random(size) < 0.2, random.choice(edges, size), values)
    )


def blur(block: Block, places: np.ndarray) -> None:
    """Forget what is at some places."""
    block.slack[places] = UNKNOWN

"""Whether numbers of programs may come from blocks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import torch

from foundation.config import Config
from kernels.spec import Grid

__all__ = ["may_follow_a_block"]


def may_follow_a_block(grid: Grid, values: Mapping[str, Any], config: Config) -> bool:
    """Whether an axis has a number of programs that a size in blocks explains, and no size or
    product of two sizes does, as where each row has a program.

    Args:
        grid: as it was launched.
        values: of the launch, by parameter; those of constants among them.
        config: of the parameters that are tuned.
    """
    blocks = {n for name in config for n in (config[name], values.get(name)) if _is_many(n)}
    numbers = [n for name, n in values.items() if name not in config and _is_many(n)]
    tensors = [value for value in values.values() if isinstance(value, torch.Tensor)]
    sizes = {*numbers, *(n for t in tensors for n in (*t.shape, t.numel()))}
    whole = sizes | {math.prod(two) for two in itertools.combinations(sizes, 2)}
    parts = {-(-size // block) for size in sizes for block in blocks} - {0, 1}
    return any(n not in whole and any(n % part == 0 for part in parts) for n in grid if n > 1)


def _is_many(value: object) -> bool:
    return type(value) is int and value > 1

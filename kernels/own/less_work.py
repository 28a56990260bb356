"""Whether a file gives a configuration less to do than the default one, or its result."""

from __future__ import annotations

from typing import Any

import torch

from foundation.config import Config
from kernels.own.expected import expected_outputs
from kernels.own.held_already import hold_already
from kernels.own.launch import Launch

__all__ = ["on_less_work"]

# Padding to whole blocks adds less than this, unless a size is smaller than a block.
_LEAST_SHARE = 0.5


def on_less_work(default: Launch, other: Launch) -> str:
    """One sentence if a configuration gets smaller outputs than the default one, or outputs that
    hold what is expected before it runs; "" otherwise.

    Args:
        default, other: of a file whose `arguments`, `call` or `reference` takes the configuration.

    Raises:
        UserError: if a function of the file fails.
    """
    if other.file.optional("reference") is None:  # a run of the kernel would have to tell
        return ""
    config, maker = Config(dict(other.config)), other.file.maker().__name__
    usual, given = default.values(), other.values()
    expected = expected_outputs(other, with_unnamed=False)
    for name in expected:
        before, now = _elements(usual.get(name)), _elements(given[name])
        if now < before * _LEAST_SHARE:
            return (
                f"{maker} gives {config} {now} elements of {name}, and the default configuration "
                f"{before}: unless these are partial results, their times are of different work"
            )
    if hold_already(given, expected):
        usually = expected_outputs(default, with_unnamed=False)
        if not hold_already(usual, usually):
            return (
                f"{maker} gives {config} {', '.join(expected)} with what is expected before the "
                "kernel runs, so it may compute nothing: give every configuration the same outputs"
            )
    return ""


def _elements(value: Any) -> int:
    """Of a tensor; none where a configuration does without it."""
    return value.numel() if isinstance(value, torch.Tensor) else 0

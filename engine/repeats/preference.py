"""Which of several equally fast configurations wins: one rule, so that a second tuning agrees."""

from __future__ import annotations

import math

from foundation.config import Config, ParameterValue

__all__ = ["Preference", "preference"]

# Compares with its like only; the smaller one is preferred.
Preference = tuple[float, tuple[tuple[str, bool, float, str], ...]]


def preference(config: Config, code_bytes: int | None = None) -> Preference:
    """A sort key: less machine code first; then parameter by parameter, the smaller value first.

    Parameters are taken in the order of their names, numbers before texts. What a run measures is
    no part of it.

    Args:
        config: the configuration.
        code_bytes: size of its machine code; an unknown size comes last.
    """
    size = math.inf if code_bytes is None else float(code_bytes)
    return size, tuple((name, *_place(config[name])) for name in sorted(config))


def _place(value: ParameterValue) -> tuple[bool, float, str]:
    return (True, 0.0, value) if isinstance(value, str) else (False, float(value), "")

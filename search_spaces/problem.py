"""The problem, as a search space sees it."""

from __future__ import annotations

from typing import Protocol

from foundation.config import Config
from foundation.shapes import Shape

__all__ = ["Problem"]


class Problem(Protocol):
    """A kernel at one shape and element type; `kernels.spec.Problem` is one."""

    @property
    def shape(self) -> Shape:
        """The size of each dimension."""
        ...

    @property
    def dtype(self) -> str:
        """The element type, by Triton's short name ("fp32")."""
        ...

    @property
    def default_config(self) -> Config:
        """What a user would run at this shape without tuning."""
        ...

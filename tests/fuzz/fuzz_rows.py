"""Rows and columns of a flat index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Rows"]


@dataclass(frozen=True)
class Rows:
    """A flat index as rows see it: `index // length * pitch + index % length * step`.

    Args:
        length: as written in the kernel and as a number.
        pitch: from one row to the next; 0 leaves the quotient out.
        step: from one element of a row to the next; 0 leaves the remainder out.
    """

    length: tuple[str, int]
    pitch: int
    step: int

    def text(self, index: str) -> str:
        parts = [f"{index} // {self.length[0]} * {self.pitch}"] * (self.pitch != 0)
        parts += [f"{index} % {self.length[0]} * {self.step}"] * (self.step != 0)
        return f"({' + '.join(parts)})"

    def places(self, index: np.ndarray) -> np.ndarray:
        """Of indices that are not negative."""
        return index // self.length[1] * self.pitch + index % self.length[1] * self.step

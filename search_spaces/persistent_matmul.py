"""Search space of the matrix product by descriptors: that of the plain product."""

from __future__ import annotations

from search_spaces.matmul import space

__all__ = ["space"]

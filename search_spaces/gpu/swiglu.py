"""Search space of SwiGLU on a GPU."""

from __future__ import annotations

from search_spaces.gpu.tiles import vector_space as space

__all__ = ["space"]

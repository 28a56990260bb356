"""Search space of the rotary position embedding's gradient on a GPU: as of the embedding."""

from __future__ import annotations

from search_spaces.gpu.rope_fwd import space

__all__ = ["space"]

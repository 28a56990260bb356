"""Search space of the gradient of the rotary position embedding: that of the embedding."""

from __future__ import annotations

from search_spaces.rope_fwd import space

__all__ = ["space"]

"""Search space of the rotary position embedding's gradient: the same as of the embedding."""

from __future__ import annotations

from search_spaces.rope_fwd import space

__all__ = ["space"]

"""What may be tried for the gradient of the rotary position embedding: as for the embedding."""

from __future__ import annotations

from search_spaces.rope_fwd import space

__all__ = ["space"]

"""Search space of causal attention: the same as of attention to all keys."""

from __future__ import annotations

from search_spaces.flash_attention_fwd import space

__all__ = ["space"]

"""Search space of causal attention on a GPU: the same as of attention to all keys."""

from __future__ import annotations

from search_spaces.gpu.flash_attention_fwd import space

__all__ = ["space"]

"""What may be tried for causal attention: what may be tried for attention to all keys."""

from __future__ import annotations

from search_spaces.flash_attention_fwd import space

__all__ = ["space"]

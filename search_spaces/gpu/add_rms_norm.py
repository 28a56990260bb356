"""Search space of RMS normalisation with a residual on a GPU: rows, in chunks of columns."""

from __future__ import annotations

from search_spaces.gpu.rows import chunked_rows as space

__all__ = ["space"]

"""Programs of a grid in reverse order on a GPU, which starts them by their numbers, mostly."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import triton
import triton.language as tl
from triton.language.semantic import TritonSemantic

from foundation.scratch import scratch_folder

__all__ = ["reversed_programs"]


@contextlib.contextmanager
def reversed_programs() -> Iterator[None]:
    """Within the block, a kernel that is compiled takes the last program for the first, along each
    axis. Nothing of it reaches Triton's cache."""
    plain = TritonSemantic.program_id

    def program_id(semantic: Any, axis: int) -> Any:
        builder, count = semantic.builder, semantic.num_programs(axis).handle
        last = builder.create_sub(count, builder.get_int32(1))
        return semantic.tensor(builder.create_sub(last, plain(semantic, axis).handle), tl.int32)

    with scratch_folder("reversed-") as folder, triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(folder)
        TritonSemantic.program_id = program_id
        try:
            yield
        finally:
            TritonSemantic.program_id = plain

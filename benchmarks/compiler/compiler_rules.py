"""Rules of the compiler that can be switched off where they stand, to see what they are worth.

Passes have `--skip-pass`. What is decided while code is written has no option: here each such rule
is the name that decides it, and what that is to give in its place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest import mock

__all__ = ["RULES", "without_rule"]

# Names in triton_rvv.lowering, and what takes their place.
_Replacements = Mapping[str, Callable[..., Any]]


def _always(value: object) -> Callable[..., Any]:
    return lambda *_, **__: value


def _width(builder: object, tensors: object, width: int, *_: object) -> int:
    return width


def _same(context: object, pointers: object, mask: object) -> tuple[object, object]:
    return pointers, mask


def _copied(context: object, tensor: object, start: object, width: int, copy: Any) -> None:
    copy(tensor)


# Code is right without any of them.
RULES: Mapping[str, _Replacements] = {
    "addresses/div_mod": {"elementwise.quotients.divided": _always(None)},
    "addresses/div_mod_pow2": {"elementwise.quotients.div_mod_pow2": _always(None)},
    "addresses/lane_range": {"addresses.masks.Term.lanes_in": _always(None)},
    "addresses/masks, joint": {
        "addresses.masks.JointComparison.is_one": staticmethod(_always(False))
    },
    "loops/boundary_masks": {"loops.boundary_masks.BoundaryMasks.apply_on": _always(False)},
    "loops/loop_versioning, columns": {"loops.loop_versioning.plain_columns": _always(None)},
    "loops/materialise, numbers of rows": {
        "loops.materialise._compute_numbers_of_rows": _always(None)
    },
    "loops/row_offsets, rows": {
        "elementwise.index.listed_by_row": _always(None),
        "elementwise.pointers.listed_by_row": _always(None),
    },
    "loops/row_offsets, lines": {"elementwise.shapes.listed_line": _always(None)},
    "loops/tail_vectors": {
        "loops.vector_groups.tail_width": _width,
        "loops.linear_segments.tail_width": _width,
    },
    "loops/vector_shape, lines": {"loops.vector_shape._share_lines": _always(False)},
    "loops/vector_shape, long": {"loops.vector_shape._takes_long_runs": _always(False)},
    "loops/vector_shape, rows": {
        "loops.loop_nests.spanning_width": _always(0),
        "reductions.reduce.spanning_width": _always(0),
    },
    "math/few_bits, limits": {"math.few_bits._limited": _always(None)},
    "memory/listed": {"memory.loads.with_lists": _same},
    "memory/listed_runs": {"products.pack.with_runs": _copied},
    "memory/prefetches, columns": {"memory.load_recipe.prefetch_columns_ahead": _always(None)},
    "memory/prefetches, programs": {"memory.loads._to_next_program": _always(None)},
    "memory/segment_loads": {"memory.segment_loads.SegmentLoad.run": _always(None)},
    "products/dot_extents, lhs": {"products.dot.packed_steps": _always(None)},
    "products/unpacked_rhs": {"products.dot.unpacked_rhs": _always(None)},
    "reductions/partial_reductions, numbers": {
        "reductions.partial_reductions.PartialReductions.keep_numbers": _always(False)
    },
}


@contextlib.contextmanager
def without_rule(name: str) -> Iterator[None]:
    """Inside the `with`, code is written without a rule; any other name changes nothing."""
    with contextlib.ExitStack() as stack:
        for place, replacement in RULES.get(name, {}).items():
            stack.enter_context(mock.patch(f"triton_rvv.lowering.{place}", replacement))
        yield

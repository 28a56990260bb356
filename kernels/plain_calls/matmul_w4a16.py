"""The plain call of the product with packed 4-bit weights, and what that with 8-bit x shares."""

from __future__ import annotations

from typing import Any

from kernels.plain_calls.call import Array, PlainCall, Sizes
from kernels.references.packed_weights import GROUP
from search_spaces.packed_weights import TILE

__all__ = ["CALL", "SIZES", "groups", "integers", "weights", "x_shape"]

SIZES = {
    "M": "rows of x and y",
    "N": "columns of w and y",
    "K": f"rows of w; each row of x has as many elements, and zeros up to a multiple of {GROUP}",
}


def groups(s: Sizes) -> Any:
    """Scales in a column of weights."""
    return (s["K"] + GROUP - 1) // GROUP


def _tiles(s: Sizes) -> Any:
    return (s["N"] + TILE - 1) // TILE


def x_shape(s: Sizes) -> tuple[Any, Any]:
    """That of the activations."""
    return s["M"], groups(s) * GROUP


def weights() -> tuple[Array, Array]:
    """The packed weights and their scales."""
    return (
        Array(
            "w",
            "w_ptr",
            f"weights plus 8, {TILE} columns side by side; in a group of {GROUP}, byte j has "
            f"weight j in its low half and weight j + {GROUP // 2} in its high one",
            lambda s: (_tiles(s), groups(s) * (GROUP // 2), TILE),
            dtype="u8",
        ),
        Array(
            "w_scale",
            "w_scale_ptr",
            f"of each {GROUP} weights of a column, in the order of w",
            lambda s: (_tiles(s), groups(s), TILE),
            dtype="fp16",
        ),
    )


def integers(s: Sizes) -> dict[str, Any]:
    """The kernels' other arguments."""
    return {"M": s["M"], "N": s["N"], "groups": groups(s)}


CALL = PlainCall(
    meaning="y = x @ w, with weights of 4 bits times their scales",
    sizes=SIZES,
    arrays=(
        Array("x", "x_ptr", "activations", x_shape),
        *weights(),
        Array("y", "y_ptr", "result", lambda s: (s["M"], s["N"]), access="out"),
    ),
    integers=integers,
)

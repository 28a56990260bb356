"""The plain call of the product of 8-bit matrices with scales."""

from __future__ import annotations

from typing import Any

from kernels.plain_calls.call import Array, PlainCall
from search_spaces.gemm_a8w8_blockscale import SCALED_ELEMENTS

__all__ = ["CALL"]


def _scales(size: Any) -> Any:
    """How many scales a row of so many elements has."""
    return (size + SCALED_ELEMENTS - 1) // SCALED_ELEMENTS


CALL = PlainCall(
    meaning="c[m, n] = sum over k of a[m, k] * b[k, n] * a_scale[m, k / 128] * "
    "b_scale[k / 128, n / 128]",
    sizes={"M": "rows of a and c", "N": "columns of b and c", "K": "columns of a, rows of b"},
    arrays=(
        Array("a", "a_ptr", "left factor", lambda s: (s["M"], s["K"]), stride="stride_am"),
        Array("b", "b_ptr", "right factor", lambda s: (s["K"], s["N"]), stride="stride_b"),
        Array(
            "c",
            "c_ptr",
            "product",
            lambda s: (s["M"], s["N"]),
            stride="stride_cm",
            access="out",
            dtype="bf16",
        ),
        Array(
            "a_scale",
            "a_scale_ptr",
            "of each 128 elements of a row of a",
            lambda s: (s["M"], _scales(s["K"])),
            dtype="fp32",
        ),
        Array(
            "b_scale",
            "b_scale_ptr",
            "of each 128 x 128 elements of b",
            lambda s: (_scales(s["K"]), _scales(s["N"])),
            dtype="fp32",
        ),
    ),
    integers=lambda s: {
        **{name: s[name] for name in "MNK"},
        "stride_a_scale_m": _scales(s["K"]),
        "stride_b_scale_k": _scales(s["N"]),
    },
    # Only where NUM_KSPLIT programs share a tile: no processor's space has it.
    unused={"partials_ptr": "fp32", "arrivals_ptr": "i32"},
)

"""The plain call of the quantisation of activations."""

from kernels.plain_calls.call import Array, PlainCall
from kernels.plain_calls.matmul_w4a16 import groups, x_shape
from kernels.references.packed_weights import GROUP

__all__ = ["CALL"]

CALL = PlainCall(
    meaning=f"q = x / scale in 8 bits, with a scale for each {GROUP} elements of a row",
    sizes={
        "M": "rows",
        "K": f"columns of x; q has zeros up to a multiple of {GROUP}",
    },
    arrays=(
        Array("x", "x_ptr", "input", lambda s: (s["M"], s["K"])),
        Array("q", "q_ptr", "result", x_shape, access="out", dtype="i8"),
        Array(
            "scale",
            "scale_ptr",
            f"of each {GROUP} elements of a row of q",
            lambda s: (s["M"], groups(s)),
            access="out",
            dtype="fp32",
        ),
        Array(
            "sum",
            "sum_ptr",
            f"sum of each {GROUP} elements of a row of q",
            lambda s: (s["M"], groups(s)),
            access="out",
            dtype="i32",
        ),
    ),
    integers=lambda s: {"K": s["K"], "groups": groups(s)},
)

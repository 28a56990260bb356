"""The plain call of the product of 8-bit activations with packed weights of 4 bits."""

from kernels.plain_calls.call import Array, PlainCall
from kernels.plain_calls.matmul_w4a16 import SIZES, groups, integers, weights, x_shape
from kernels.references.packed_weights import GROUP

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="y = x @ w, with elements of x and weights of 4 bits times their scales",
    sizes=SIZES,
    arrays=(
        Array("x", "x_ptr", "activations", x_shape),
        Array(
            "x_scale",
            "x_scale_ptr",
            f"of each {GROUP} elements of a row of x",
            lambda s: (s["M"], groups(s)),
            dtype="fp32",
        ),
        Array(
            "x_sum",
            "x_sum_ptr",
            f"sum of each {GROUP} elements of a row of x",
            lambda s: (s["M"], groups(s)),
            dtype="i32",
        ),
        *weights(),
        Array("y", "y_ptr", "result", lambda s: (s["M"], s["N"]), access="out", dtype="fp32"),
    ),
    integers=integers,
)

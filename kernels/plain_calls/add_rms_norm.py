"""The plain call of RMS norm with the residual."""

from kernels.plain_calls.call import Array, Covered, Number, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="residual += x, then each row of y is weight times that row of residual, divided by "
    "the square root of its mean square plus epsilon",
    sizes={"M": "rows", "N": "columns"},
    arrays=(
        Array("x", "x_ptr", "what is added", lambda s: (s["M"], s["N"])),
        Array("residual", "residual_ptr", "the sum", lambda s: (s["M"], s["N"]), access="inout"),
        Array("weight", "weight_ptr", "of each column", lambda s: (s["N"],)),
        Array("y", "y_ptr", "result", lambda s: (s["M"], s["N"]), access="out"),
    ),
    integers=lambda s: {"M": s["M"], "N": s["N"]},
    numbers=(Number("epsilon", "epsilon", "fp32", "such as 1e-6"),),
    covered=Covered("N", "BLOCK_SIZE_N", most=1 << 16),
)

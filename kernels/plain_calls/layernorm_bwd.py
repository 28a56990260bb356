"""The plain call of layer normalisation's gradients."""

from kernels.plain_calls.call import Array, Covered, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="with n = (x - mean) * rstd and g = dy * weight: dx = (g - mean(g) - n * mean(g * n)) "
    "* rstd over each row, dweight += sum of dy * n and dbias += sum of dy over the rows; with "
    "several threads, the order of these sums may differ from call to call",
    sizes={"M": "rows", "N": "columns"},
    arrays=(
        Array("dy", "dy_ptr", "gradient of the result", lambda s: (s["M"], s["N"])),
        Array("x", "x_ptr", "input of layernorm_fwd", lambda s: (s["M"], s["N"])),
        Array("weight", "weight_ptr", "one factor a column", lambda s: (s["N"],)),
        Array(
            "mean", "mean_ptr", "of each row, by layernorm_fwd", lambda s: (s["M"],), dtype="fp32"
        ),
        Array(
            "rstd", "rstd_ptr", "of each row, by layernorm_fwd", lambda s: (s["M"],), dtype="fp32"
        ),
        Array("dx", "dx_ptr", "gradient of x", lambda s: (s["M"], s["N"]), access="out"),
        Array(
            "dweight",
            "dweight_ptr",
            "what the gradient of weight is added to",
            lambda s: (s["N"],),
            access="inout",
            dtype="fp32",
        ),
        Array(
            "dbias",
            "dbias_ptr",
            "what the gradient of bias is added to",
            lambda s: (s["N"],),
            access="inout",
            dtype="fp32",
        ),
    ),
    integers=lambda s: {"M": s["M"], "N": s["N"]},
    covered=Covered("N", "BLOCK_SIZE_N", most=1 << 16),
)

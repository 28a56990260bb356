"""The plain call of layer normalisation."""

from kernels.plain_calls.call import Array, Number, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="y = (x - mean) * rstd * weight + bias over each row of x",
    sizes={"M": "rows", "N": "columns"},
    arrays=(
        Array("x", "x_ptr", "input", lambda s: (s["M"], s["N"])),
        Array("weight", "weight_ptr", "one factor a column", lambda s: (s["N"],)),
        Array("bias", "bias_ptr", "one term a column", lambda s: (s["N"],)),
        Array("y", "y_ptr", "result", lambda s: (s["M"], s["N"]), access="out"),
        Array("mean", "mean_ptr", "of each row", lambda s: (s["M"],), access="out", dtype="fp32"),
        Array(
            "rstd",
            "rstd_ptr",
            "1 / sqrt(variance + epsilon) of each row",
            lambda s: (s["M"],),
            access="out",
            dtype="fp32",
        ),
    ),
    integers=lambda s: {"M": s["M"], "N": s["N"]},
    numbers=(Number("epsilon", "epsilon", "fp32", "added to the variance, such as 1e-5"),),
)

"""The plain call of softmax over rows."""

from kernels.plain_calls.call import Array, Covered, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="each row of y is the softmax of that row of x",
    sizes={"M": "rows", "N": "columns"},
    arrays=(
        Array("x", "input_ptr", "input", lambda s: (s["M"], s["N"]), stride="input_row_stride"),
        Array(
            "y",
            "output_ptr",
            "result",
            lambda s: (s["M"], s["N"]),
            stride="output_row_stride",
            access="out",
        ),
    ),
    integers=lambda s: {"n_rows": s["M"], "n_cols": s["N"]},
    covered=Covered("N", "BLOCK_SIZE_N", most=1 << 18),
)

"""The plain call of a step of Jacobi's iteration."""

from kernels.plain_calls.call import Array, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="out[y, x] = mean of the four neighbours of points[y + 1, x + 1]",
    sizes={"M": "rows of out", "N": "columns of out"},
    arrays=(
        Array(
            "points",
            "grid_ptr",
            "input with its boundary",
            lambda s: (s["M"] + 2, s["N"] + 2),
        ),
        Array("out", "out_ptr", "result", lambda s: (s["M"], s["N"]), access="out"),
    ),
    integers=lambda s: {"height": s["M"], "width": s["N"]},
)

"""The plain call of the sum of two vectors."""

from kernels.plain_calls.call import Array, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="z = x + y; integers wrap",
    sizes={"N": "elements"},
    arrays=(
        Array("x", "x_ptr", "first term", lambda s: (s["N"],)),
        Array("y", "y_ptr", "second term", lambda s: (s["N"],)),
        Array("z", "output_ptr", "sum", lambda s: (s["N"],), access="out"),
    ),
    integers=lambda s: {"n_elements": s["N"]},
)

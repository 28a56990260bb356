"""The plain call of dropout."""

from kernels.plain_calls.call import Array, Number, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="y[i] is 0 with the given probability and x[i] / (1 - probability) otherwise; which "
    "depends on the seed and on i only",
    sizes={"N": "elements"},
    arrays=(
        Array("x", "x_ptr", "input", lambda s: (s["N"],)),
        Array("y", "output_ptr", "result", lambda s: (s["N"],), access="out"),
    ),
    integers=lambda s: {"n_elements": s["N"]},
    numbers=(
        Number("probability", "probability", "fp32", "of a 0, below 1"),
        Number("seed", "seed", "i32", "another one drops other elements"),
    ),
)

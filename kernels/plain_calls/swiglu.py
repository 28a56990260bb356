"""The plain call of SwiGLU."""

from kernels.plain_calls.call import Array, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="y = gate / (1 + exp(-gate)) * up",
    sizes={"N": "elements"},
    arrays=(
        Array("gate", "gate_ptr", "input", lambda s: (s["N"],)),
        Array("up", "up_ptr", "factors", lambda s: (s["N"],)),
        Array("y", "y_ptr", "result", lambda s: (s["N"],), access="out"),
    ),
    integers=lambda s: {"n_elements": s["N"]},
)

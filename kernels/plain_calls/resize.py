"""The plain call of an image's doubling."""

from kernels.plain_calls.call import Array, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="each pixel of out is the mean, rounded down, of the pixels of src around it: of one, "
    "two or four; the last row and column of src count as repeated",
    sizes={"C": "planes", "H": "rows of src", "W": "columns of src"},
    arrays=(
        Array("src", "src_ptr", "input", lambda s: (s["C"], s["H"], s["W"])),
        Array(
            "out",
            "out_ptr",
            "result",
            lambda s: (s["C"], s["H"] * 2, s["W"] * 2),
            access="out",
        ),
    ),
    integers=lambda s: {"height": s["H"], "width": s["W"]},
)

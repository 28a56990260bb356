"""The plain call of the correlation of two feature maps."""

from kernels.plain_calls.call import Array, Number, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="out[d, y, x] = (sum over c of left[c, y, x] * right[c, y, x - d]) >> shift; what is "
    "left of the first column counts as 0, and a result keeps its lowest 8 bits",
    sizes={"C": "channels", "H": "rows", "W": "columns", "D": "displacements, from 0 up"},
    arrays=(
        Array("left", "left_ptr", "feature map", lambda s: (s["C"], s["H"], s["W"])),
        Array("right", "right_ptr", "feature map", lambda s: (s["C"], s["H"], s["W"])),
        Array("out", "out_ptr", "result", lambda s: (s["D"], s["H"], s["W"]), access="out"),
    ),
    integers=lambda s: {
        "channels": s["C"],
        "height": s["H"],
        "width": s["W"],
        "displacements": s["D"],
    },
    numbers=(Number("shift", "shift", "i32", "bits by which a sum is shifted, 0 to 31"),),
)

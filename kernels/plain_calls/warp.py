"""The plain call of the shift of each pixel along its row."""

from kernels.plain_calls.call import Array, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="out[c, y, x] is src at (c, y, x - offset[y, x] / 256) between two pixels, rounded "
    "down; outside the image, 0",
    sizes={"C": "planes", "H": "rows", "W": "columns"},
    arrays=(
        Array("src", "src_ptr", "input", lambda s: (s["C"], s["H"], s["W"])),
        Array(
            "offset", "offset_ptr", "in 1 / 256 of a pixel", lambda s: (s["H"], s["W"]), dtype="i16"
        ),
        Array("out", "out_ptr", "result", lambda s: (s["C"], s["H"], s["W"]), access="out"),
    ),
    integers=lambda s: {"channels": s["C"], "height": s["H"], "width": s["W"]},
)

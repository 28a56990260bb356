"""The plain call of a batch of matrix products."""

from kernels.plain_calls.call import Array, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="c[i] = a[i] @ b[i] for each of B products",
    sizes={
        "B": "products",
        "M": "rows of each a and c",
        "N": "columns of each b and c",
        "K": "columns of each a, rows of each b",
    },
    arrays=(
        Array("a", "a_ptr", "left factors", lambda s: (s["B"], s["M"], s["K"])),
        Array("b", "b_ptr", "right factors", lambda s: (s["B"], s["K"], s["N"])),
        Array(
            "c",
            "c_ptr",
            "products",
            lambda s: (s["B"], s["M"], s["N"]),
            access="out",
            dtype_of={"i8": "i32"},
        ),
    ),
    integers=lambda s: {
        **{name: s[name] for name in "MNK"},
        "stride_ab": s["M"] * s["K"],
        "stride_am": s["K"],
        "stride_ak": 1,
        "stride_bb": s["K"] * s["N"],
        "stride_bk": s["N"],
        "stride_bn": 1,
        "stride_cb": s["M"] * s["N"],
        "stride_cm": s["N"],
        "stride_cn": 1,
    },
)

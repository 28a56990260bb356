"""The plain call of the matrix product."""

from kernels.plain_calls.call import Array, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="c = a @ b",
    sizes={"M": "rows of a and c", "N": "columns of b and c", "K": "columns of a, rows of b"},
    arrays=(
        Array("a", "a_ptr", "left factor", lambda s: (s["M"], s["K"]), stride="stride_am"),
        Array("b", "b_ptr", "right factor", lambda s: (s["K"], s["N"]), stride="stride_bk"),
        Array(
            "c",
            "c_ptr",
            "product",
            lambda s: (s["M"], s["N"]),
            stride="stride_cm",
            access="out",
            dtype_of={"i8": "i32"},
        ),
    ),
    integers=lambda s: {
        **{name: s[name] for name in "MNK"},
        "stride_ak": 1,
        "stride_bn": 1,
        "stride_cn": 1,
    },
)

"""The plain call of the matrix product whose sums are split over programs."""

from dataclasses import replace

from kernels.plain_calls.call import Array
from kernels.plain_calls.matmul import CALL as PRODUCT

__all__ = ["CALL"]

_FACTORS = PRODUCT.arrays[:2]

CALL = replace(
    PRODUCT,
    meaning="c += a @ b; with several threads, the order of the sums may differ from call to call",
    arrays=(
        *_FACTORS,
        Array(
            "c",
            "c_ptr",
            "what the product is added to",
            lambda s: (s["M"], s["N"]),
            stride="stride_cm",
            access="inout",
            dtype="fp32",
            dtype_of={"i8": "i32"},
        ),
    ),
)

"""The plain call of the attention of one new token."""

from typing import Any

from kernels.decode_attention import arrivals, partials
from kernels.plain_calls.call import Array, Covered, Number, PlainCall, Room, Sizes

__all__ = ["CALL"]


def _heads(s: Sizes) -> tuple[Any, ...]:
    return (s["KV_HEADS"], s["G"], s["D_HEAD"])


def _cache(s: Sizes) -> tuple[Any, ...]:
    return (s["KV_HEADS"], s["N_CTX"] * s["D_HEAD"])


CALL = PlainCall(
    meaning="out = softmax(scale * q @ transposed k) @ v for every query head, over the keys and "
    "values of the head of the cache that its group shares",
    sizes={
        "KV_HEADS": "heads of the cache",
        "G": "query heads that share one of them",
        "N_CTX": "keys of each head",
        "D_HEAD": "elements of a query, a key and a value",
    },
    arrays=(
        Array("q", "q_ptr", "queries", _heads),
        Array("k", "k_ptr", "keys, one row for each head of the cache", _cache, stride="k_stride"),
        Array("v", "v_ptr", "values, likewise", _cache, stride="v_stride"),
        Array("out", "out_ptr", "result", _heads, access="out"),
    ),
    integers=lambda s: {"n_keys": s["N_CTX"], "head_size": s["D_HEAD"], "group": s["G"]},
    numbers=(Number("scale", "scale", "fp32", "of the scores, such as 1 / sqrt(D_HEAD)"),),
    covered=Covered("D_HEAD", "BLOCK_SIZE_DMODEL", most=1 << 9),
    rooms=(Room("partials_ptr", "fp32", partials), Room("arrivals_ptr", "i32", arrivals)),
)

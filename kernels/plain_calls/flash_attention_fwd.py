"""The plain call of attention."""

from kernels.plain_calls.call import Array, Covered, Number, PlainCall, Sizes

__all__ = ["CALL", "attention_call"]


def _heads(s: Sizes) -> tuple[object, ...]:
    return (s["Z"], s["H"], s["N_CTX"], s["D_HEAD"])


def attention_call(meaning: str) -> PlainCall:
    """The call with or without the causal mask."""
    return PlainCall(
        meaning=meaning,
        sizes={
            "Z": "sequences",
            "H": "heads of each sequence",
            "N_CTX": "queries, and keys, of each head",
            "D_HEAD": "elements of a query, a key and a value",
        },
        arrays=(
            Array("q", "q_ptr", "queries", _heads),
            Array("k", "k_ptr", "keys", _heads),
            Array("v", "v_ptr", "values", _heads),
            Array("out", "out_ptr", "result", _heads, access="out"),
            Array(
                "logsumexp",
                "logsumexp_ptr",
                "log of each query's sum of exponentials",
                lambda s: (s["Z"], s["H"], s["N_CTX"]),
                access="out",
                dtype="fp32",
            ),
        ),
        integers=lambda s: {
            "n_queries": s["N_CTX"],
            "n_keys": s["N_CTX"],
            "head_size": s["D_HEAD"],
        },
        numbers=(Number("scale", "scale", "fp32", "of the scores, such as 1 / sqrt(D_HEAD)"),),
        covered=Covered("D_HEAD", "BLOCK_SIZE_DMODEL", most=1 << 9),
    )


CALL = attention_call("out = softmax(scale * q @ transposed k) @ v for every head")

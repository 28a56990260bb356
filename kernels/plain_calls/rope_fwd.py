"""The plain call of the rotary position embedding."""

from kernels.plain_calls.call import Array, Covered, PlainCall

__all__ = ["CALL", "rope_call"]


def rope_call(meaning: str) -> PlainCall:
    """The call of one direction."""
    return PlainCall(
        meaning=meaning,
        sizes={
            "TOKENS": "tokens",
            "HEADS": "heads of each token",
            "HEAD_SIZE": "elements of a head, the real parts before the imaginary ones; even",
        },
        arrays=(
            Array("x", "x_ptr", "input", lambda s: (s["TOKENS"], s["HEADS"], s["HEAD_SIZE"])),
            Array(
                "cosines",
                "cos_ptr",
                "of each token's angles",
                lambda s: (s["TOKENS"], s["HEAD_SIZE"] // 2),
            ),
            Array(
                "sines",
                "sin_ptr",
                "of each token's angles",
                lambda s: (s["TOKENS"], s["HEAD_SIZE"] // 2),
            ),
            Array(
                "y",
                "y_ptr",
                "result",
                lambda s: (s["TOKENS"], s["HEADS"], s["HEAD_SIZE"]),
                access="out",
            ),
        ),
        integers=lambda s: {
            "n_tokens": s["TOKENS"],
            "n_heads": s["HEADS"],
            "half": s["HEAD_SIZE"] // 2,
        },
        covered=Covered("HEAD_SIZE", "BLOCK_SIZE_D", most=1 << 12),
        multiple_of={"HEAD_SIZE": 2},
    )


CALL = rope_call("y is x with every head turned by its token's angles")

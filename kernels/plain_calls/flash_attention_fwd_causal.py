"""The plain call of causal attention."""

from kernels.plain_calls.flash_attention_fwd import attention_call

__all__ = ["CALL"]

CALL = attention_call(
    "out = softmax(scale * q @ transposed k) @ v for every head, a query seeing the keys up to its "
    "own place"
)

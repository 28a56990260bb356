"""The plain call of the rotary position embedding's gradient."""

from kernels.plain_calls.rope_fwd import rope_call

__all__ = ["CALL"]

CALL = rope_call("y is x with every head turned back by its token's angles")

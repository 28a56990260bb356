"""The random numbers of `tl.rand`, computed in NumPy.

Philox4x32 with ten rounds is from J. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3
(SC 2011), figure 3 and table 2. Numbers become floats as in Triton's `uint_to_uniform_float`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["uniform"]

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
# The largest float32 whose product with the largest int32 is below 1.
_SCALE = np.float32(4.6566127342e-10)


def uniform(seed: int, offsets: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
    """`tl.rand(seed, offsets)`: float32 in [0, 1), one per offset.

    Args:
        seed: the key, 64 bits.
        offsets: the first word of the counter; the other three are zero.
    """
    counter = [offsets.astype(np.uint32).astype(np.uint64)]
    counter += [np.zeros_like(counter[0])] * 3
    key = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(_ROUNDS):
        first = counter[0] * np.uint64(_MULTIPLIERS[0])
        second = counter[2] * np.uint64(_MULTIPLIERS[1])
        counter = [
            (second >> np.uint64(32)) ^ counter[1] ^ np.uint64(key[0]),
            second & _LOW,
            (first >> np.uint64(32)) ^ counter[3] ^ np.uint64(key[1]),
            first & _LOW,
        ]
        key = [(word + step) & 0xFFFFFFFF for word, step in zip(key, _KEY_STEPS, strict=True)]
    signed = counter[0].astype(np.uint32).view(np.int32)
    distances = np.where(signed < 0, -signed - 1, signed)
    return distances.astype(np.float32) * _SCALE

"""Arguments for tests of mathematical functions, and errors in units of the last place."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from qemu_kernels import Expected

__all__ = ["BLOCK", "ROW", "SPECIAL", "check_errors", "pairs", "samples", "store_error"]

BLOCK = 512
ROW = 16 * BLOCK

LARGEST, SMALLEST = np.finfo(np.float32).max, np.float32(1e-45)
SPECIAL = np.array(
    [
        *(0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1, -1, 0.5),
        *(LARGEST, -LARGEST, SMALLEST, -SMALLEST, -2, 1e-20, -1e20),
    ],
    np.float32,
)


@triton.jit
def store_error(result, exact_ptr, per_limit_ptr, error_ptr, offsets):
    """|result - exact| as a part of what is allowed."""
    error = tl.abs(result.to(tl.float64) - tl.load(exact_ptr + offsets))
    tl.store(error_ptr + offsets, error * tl.load(per_limit_ptr + offsets))


def samples(reference, lowest, highest, seed=0):
    """A row of arguments of both signs: over every magnitude, and evenly between two limits.

    Only such as have a finite result in float32.
    """
    random = np.random.default_rng(seed)
    magnitudes = np.exp2(random.uniform(-149, 128, ROW)) * random.choice([-1, 1], ROW)
    even = random.uniform(lowest, highest, 2 * ROW)
    x = random.permuted(np.concatenate([magnitudes, even]).astype(np.float32))
    with np.errstate(all="ignore"):
        x = x[np.isfinite(reference(x.astype(np.float64)).astype(np.float32))]
    return x[:ROW]


def pairs(reference, seed=0):
    """Two rows of arguments, for which the function has a finite result that is not 0."""
    random = np.random.default_rng(seed)
    x, y = np.exp2(random.normal(0, 12, (2, 8 * ROW))) * random.choice([-1, 1], (2, 8 * ROW))
    x, y = x.astype(np.float32), y.astype(np.float32)
    with np.errstate(all="ignore"):
        result = reference(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    fine = np.isfinite(result) & (result != 0)
    return x[fine][:ROW], y[fine][:ROW]


def check_errors(run, kernel, exact, limits_ulp, vlen_bits, **arrays):
    """`kernel` calls `store_error` for each row of `exact`, whose errors stay below `limits_ulp`.

    Returns:
        The largest error, as a part of its limit.
    """
    exact = np.stack(exact)
    _, exponent = np.frexp(exact)
    ulp = np.ldexp(1.0, np.maximum(exponent - 24, -149))
    report = run(
        kernel,
        exact_ptr=exact,
        per_limit_ptr=1 / (ulp * np.reshape(limits_ulp, (-1, 1))),
        error_ptr=Expected(np.zeros(exact.shape), atol=1.0),
        n=ROW,
        BLOCK=BLOCK,
        grid=(ROW // BLOCK,),
        vlen_bits=vlen_bits,
        **arrays,
    )
    return report.max_abs_error

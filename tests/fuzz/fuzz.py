"""Random kernels against NumPy until the time is over: `make fuzz SECONDS=3600`."""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time

from fuzz_cases import check, programs
from fuzz_worker import Worker
from hypothesis import HealthCheck, Phase, Verbosity, assume, given, seed, settings

from triton_rvv import SUPPORTED_VLEN_BITS

EMULATED = [f"rvv{vlen_bits}" for vlen_bits in SUPPORTED_VLEN_BITS]
_AT_ONCE = 100

# A wrong kernel that is found last may take so much longer to get small.
_LONGEST_SHRINK_S = 120


def fuzz(targets, seconds: float, first_seed: int) -> tuple[int, int]:
    """Run random kernels until `seconds` are over; print the smallest of each kind that is wrong.

    Returns:
        How many ran, and how many times one was wrong.
    """
    worker, end, runs, wrong = Worker(), time.monotonic() + seconds, 0, 0
    try:
        for number in itertools.count(first_seed):
            left_s = end - time.monotonic()
            if left_s <= 0:
                return runs, wrong
            test, count = kernels(targets, worker, number, left_s)
            try:
                test()
            except AssertionError as error:
                wrong += 1
                print(f"seed {number}: {error}", flush=True)
            runs += count()
    finally:
        worker.close()
    raise AssertionError  # unreachable: seeds do not run out


def kernels(targets, worker: Worker, number: int, left_s: float, examples: int = _AT_ONCE):
    """A test of some random kernels, and a function that says how many have run."""
    seen, end = [0], time.monotonic() + left_s

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )
    @given(programs(targets))
    def run(program):
        assume(time.monotonic() < end + _LONGEST_SHRINK_S)
        seen[0] += 1
        check(program, worker)

    return run, lambda: seen[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="when to stop")
    parser.add_argument("--target", choices=["host", "qemu"], action="append", help="both without")
    parser.add_argument("--seed", type=int, help="of the first kernels; drawn by lot without")
    given_ = parser.parse_args()
    first_seed = random.randrange(1 << 30) if given_.seed is None else given_.seed
    chosen = given_.target or ["host", "qemu"]
    targets = [*(["host"] * ("host" in chosen)), *(EMULATED if "qemu" in chosen else [])]
    print(
        f"seed {first_seed}: kernels on {', '.join(targets)} for {given_.seconds:g} s", flush=True
    )
    count, wrong = fuzz(targets, given_.seconds, first_seed)
    print(f"{count} kernels, {wrong or 'none'} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

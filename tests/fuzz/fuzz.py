"""Random kernels against NumPy until the time is over: `python tests/fuzz/fuzz.py --seconds 3600`."""

from __future__ import annotations

import argparse
import random
import sys
import time

from fuzz_cases import check, programs
from fuzz_worker import Worker
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from triton_rvv import SUPPORTED_VLEN_BITS

EMULATED = [f"rvv{vlen_bits}" for vlen_bits in SUPPORTED_VLEN_BITS]
_EXAMPLES_AT_ONCE = 100


def fuzz(targets, seconds: float, first_seed: int, examples: int = _EXAMPLES_AT_ONCE) -> int:
    """Run random kernels until `seconds` are over.

    Returns:
        How many ran.

    Raises:
        AssertionError: for the smallest kernel found that gives something else than NumPy.
    """
    worker, count, end = Worker(), 0, time.monotonic() + seconds
    try:
        number = first_seed
        while time.monotonic() < end:

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
                nonlocal count
                count += 1
                try:
                    check(program, worker)
                except AssertionError as error:
                    print(f"kernel {count}: {str(error).splitlines()[0]}", flush=True)
                    raise

            run()
            number += 1
    finally:
        worker.close()
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="when to stop")
    parser.add_argument("--target", choices=["host", "qemu"], action="append", help="both without")
    parser.add_argument("--seed", type=int, help="of the first kernels; drawn by lot without")
    given_ = parser.parse_args()
    first_seed = random.randrange(1 << 30) if given_.seed is None else given_.seed
    chosen = given_.target or ["host", "qemu"]
    targets = [*(["host"] * ("host" in chosen)), *(EMULATED if "qemu" in chosen else [])]
    print(f"seed {first_seed}: kernels on {', '.join(targets)} for {given_.seconds:g} s", flush=True)
    try:
        count = fuzz(targets, given_.seconds, first_seed)
    except AssertionError as error:
        print(error)
        return 1
    print(f"{count} kernels, none wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Random kernels against NumPy until the time is over: `make fuzz SECONDS=3600`."""

from __future__ import annotations

import argparse
import random
import sys
import time

from fuzz_cases import WrongError, after_which_pass, check, programs
from fuzz_effects import draw_statement
from fuzz_worker import Worker
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import FlakyFailure

from triton_rvv import SUPPORTED_VLEN_BITS
from triton_rvv.targets.target_names import RUNNABLE_TARGETS

EMULATED = [f"rvv{vlen_bits}" for vlen_bits in SUPPORTED_VLEN_BITS]
_AT_ONCE = 100


def fuzz(targets, seconds: float, first_seed: int) -> tuple[int, int]:
    """Run random kernels until `seconds` are over; print the smallest of each kind that is wrong.

    Returns:
        How many ran, and how many times one was wrong.
    """
    worker, end, count, wrong, number = Worker(), time.monotonic() + seconds, 0, 0, first_seed

    def note() -> None:
        nonlocal count
        count += 1

    try:
        while time.monotonic() < end:
            try:
                kernels(targets, worker, number, note)()
            except (AssertionError, FlakyFailure) as error:
                wrong += 1
                print(f"seed {number}: {error}", flush=True)
                if isinstance(error, WrongError):
                    print(after_which_pass(error.program, worker), flush=True)
            number += 1
    finally:
        worker.close()
    return count, wrong


def kernels(
    targets,
    worker: Worker,
    number: int,
    note=lambda: None,
    examples: int = _AT_ONCE,
    draw_first=draw_statement,
):
    """A test of some random kernels, which calls `note` before each; see `programs`.

    It raises an AssertionError for a wrong one, or FlakyFailure where that is so only sometimes.
    """

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
    @given(programs(targets, draw_first))
    def run(program):
        note()
        try:
            check(program, worker)
        except AssertionError as error:
            first = next(line for line in str(error).splitlines() if line)
            print(f"seed {number}, not yet at its smallest: {first}", flush=True)
            raise

    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="when to stop")
    parser.add_argument(
        "--target",
        choices=["qemu", *RUNNABLE_TARGETS],
        action="append",
        help="host and qemu, which is every vector length, without; some cores need QEMU 8.2",
    )
    parser.add_argument("--seed", type=int, help="of the first kernels; drawn by lot without")
    given_ = parser.parse_args()
    first_seed = random.randrange(1 << 30) if given_.seed is None else given_.seed
    chosen = given_.target or ["host", "qemu"]
    targets = [name for each in chosen for name in (EMULATED if each == "qemu" else [each])]
    print(
        f"seed {first_seed}: kernels on {', '.join(targets)} for {given_.seconds:g} s", flush=True
    )
    count, wrong = fuzz(targets, given_.seconds, first_seed)
    print(f"{count} kernels, {wrong or 'none'} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Reads what the launcher prints and the status it ends with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

__all__ = ["ExitStatus", "LauncherReport", "parse_launcher_output"]


class ExitStatus(IntEnum):
    """The launcher's own exit statuses; any other comes from the kernel or from the system."""

    OK = 0
    WRONG_OUTPUT = 1
    USAGE = 2
    WRONG_MACHINE = 3
    ASSERTION = 4
    MEMORY = 5


@dataclass(frozen=True)
class LauncherReport:
    """What a run of the launcher printed; what it did not get to is None or empty.

    Args:
        kernel: name of the kernel in the executable.
        vlen_bits: vector length that it was built for and that the machine has.
        output_ok: whether every output was right.
        max_abs_error: largest difference from what was expected, over all outputs; infinite where
            an element is NaN or infinite and should not be.
        mismatch: the first wrong element as "c[17] is 3 and should be 4", or "".
        times_s: kernel time of each timed run of the grid, in seconds.
    """

    kernel: str | None = None
    vlen_bits: int | None = None
    output_ok: bool | None = None
    max_abs_error: float | None = None
    mismatch: str = ""
    times_s: tuple[float, ...] = ()


# Each pattern takes whole lines only, so that a line cut off by a crash is not half believed.
_KERNEL = re.compile(r"^kernel: (.+)\n", re.MULTILINE)
_VLEN_BITS = re.compile(r"^vlen_bits: (\d+)\n", re.MULTILINE)
_OK = re.compile(r"^out OK max_abs_error=(\S+)\n", re.MULTILINE)
_NOT_OK = re.compile(
    r"^out NOT OK max_abs_error=(\S+) argument=(.*) index=(\d+) got=(\S+) expected=(\S+)\n",
    re.MULTILINE,
)
_TIME = re.compile(r"^kernel_time_s: (\d+\.\d{9})\n", re.MULTILINE)


def parse_launcher_output(stdout: str) -> LauncherReport:
    """Reads the launcher's standard output; lines that a kernel printed itself are passed over."""
    kernel = _KERNEL.search(stdout)
    vlen_bits = _VLEN_BITS.search(stdout)
    right = _OK.search(stdout)
    wrong = _NOT_OK.search(stdout)
    verdict = wrong or right
    return LauncherReport(
        kernel=kernel[1] if kernel else None,
        vlen_bits=int(vlen_bits[1]) if vlen_bits else None,
        output_ok=wrong is None if verdict else None,
        max_abs_error=float(verdict[1]) if verdict else None,
        mismatch=f"{wrong[2]}[{wrong[3]}] is {wrong[4]} and should be {wrong[5]}" if wrong else "",
        times_s=tuple(float(seconds) for seconds in _TIME.findall(stdout)),
    )

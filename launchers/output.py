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
    OUT_OF_BOUNDS = 6
    HELPERS = 7


@dataclass(frozen=True)
class LauncherReport:
    """What a run of the launcher printed; what it did not get to is None or empty.

    Args:
        kernel: name of the kernel in the executable.
        vlen_bits: vector length that it was built for and that the machine has.
        output_ok: whether every output was right.
        max_abs_error: largest difference from what was expected, over all outputs; infinite where
            an element is NaN or infinite and should not be.
        mismatch: the first wrong element as "c[17] is 3 and should be 4", how many there are, and
            whether a timed run had them, or which other order of programs; or "".
        times_s: kernel time of each timed run of the grid, in seconds.
        out_of_bounds: an access before or behind an array as "it touched c[20], and c has 20
            elements: out of bounds", or "".
        order: the last other order in which it ran the programs, such as "reversed", or "".
        max_share: the largest part of its tolerance that an element is off by, where all are right;
            None from a launcher that does not tell.
    """

    kernel: str | None = None
    vlen_bits: int | None = None
    output_ok: bool | None = None
    max_abs_error: float | None = None
    mismatch: str = ""
    times_s: tuple[float, ...] = ()
    out_of_bounds: str = ""
    order: str = ""
    max_share: float | None = None


# Each pattern takes whole lines only, so that a line cut off by a crash is not half believed.
_KERNEL = re.compile(r"^kernel: (.+)\n", re.MULTILINE)
_VLEN_BITS = re.compile(r"^vlen_bits: (\d+)\n", re.MULTILINE)
_KEY = re.compile(r"^key: [a-p]{16}\n", re.MULTILINE)
_OK = re.compile(r"^out OK max_abs_error=(\S+?)(?: max_share=(\S+))?\n", re.MULTILINE)
_NOT_OK = re.compile(
    r"^out NOT OK max_abs_error=(?P<error>\S+) argument=(?P<argument>.*) index=(?P<index>\d+) "
    r"got=(?P<got>\S+) expected=(?P<expected>\S+) off=(?P<off>\d+)/(?P<count>\d+) "
    r"run=(?P<run>check|timed|shuffled|reversed|alone|together)\n",
    re.MULTILINE,
)
_OUT_OF_BOUNDS = re.compile(
    r"^out of bounds argument=(?P<argument>.*) index=(?P<index>-?\d+) elements=(?P<count>\d+) "
    r"found=(?P<found>fault|write)\n",
    re.MULTILINE,
)
_ORDER = re.compile(r"^order: (shuffled|reversed|alone)\n", re.MULTILINE)
_TIME = re.compile(r"^kernel_time_s: (\d+\.\d{9})\n", re.MULTILINE)


def parse_launcher_output(stdout: str) -> LauncherReport:
    """Reads the launcher's standard output.

    What follows the second line with its key was printed after the kernel ran. Whatever stands
    before that, a kernel that writes to files of its own choice may have put there.
    """
    kernel = _KERNEL.search(stdout)
    vlen_bits = _VLEN_BITS.search(stdout)
    key = _KEY.search(stdout)
    found = stdout[key.end() :].partition(key[0])[2] if key else ""
    right = _OK.search(found)
    wrong = _NOT_OK.search(found)
    outside = _OUT_OF_BOUNDS.search(found)
    error = wrong["error"] if wrong else right[1] if right else None
    return LauncherReport(
        kernel=kernel[1] if kernel else None,
        vlen_bits=int(vlen_bits[1]) if vlen_bits else None,
        output_ok=False if wrong or outside else True if right else None,
        max_abs_error=None if error is None else float(error),
        max_share=float(right[2]) if right and right[2] else None,
        mismatch=_mismatch(wrong) if wrong else "",
        out_of_bounds=_outside(outside) if outside else "",
        order=(_ORDER.findall(stdout) or [""])[-1],
        times_s=tuple(float(seconds) for seconds in _TIME.findall(found)),
    )


# What is to be said of a run that found an element wrong.
_RUNS = {
    "check": "",
    "timed": ", in a timed run, which has other inputs",
    "shuffled": ", with its programs shuffled: the result depends on the order of programs",
    "reversed": ", with its programs in reverse: the result depends on the order of programs",
    "together": ", with its programs at once: the result depends on the order of programs",
    "alone": ", where the program that wrote it ran with few others: the result depends on what "
    "others wrote before, and no atomic operation orders them",
}


def _mismatch(wrong: re.Match[str]) -> str:
    element = "{argument}[{index}] is {got} and should be {expected}".format(**wrong.groupdict())
    verb = "is" if wrong["off"] == "1" else "are"
    share = "" if wrong["count"] == "1" else f"; {wrong['off']} of {wrong['count']} {verb} wrong"
    return element + share + _RUNS[wrong["run"]]


def _outside(outside: re.Match[str]) -> str:
    did = "touched" if outside["found"] == "fault" else "wrote"
    return (
        f"it {did} {outside['argument']}[{outside['index']}], and {outside['argument']} has "
        f"{outside['count']} elements: out of bounds"
    )

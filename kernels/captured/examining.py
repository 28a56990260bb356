"""The process that examines tasks, line by line: it reads a key, and when to try no more constants,
by the monotonic clock, which all processes share; it prints the key when it is done.

`python -m kernels.captured.examining [--widen] FILE`
"""

from __future__ import annotations

import resource
import signal
import sys
from pathlib import Path

from foundation.errors import UserError
from foundation.printing import say

__all__ = ["main"]


def main(words: list[str]) -> None:
    """Examine the tasks of a capture's file until the keys end."""
    # Ctrl-C ends it without a traceback, also while it imports what follows.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from kernels.captured.examination import EXAMINATION_LIMIT_S, WIDE, examine_here

    is_wide = words[0] == WIDE
    for line in iter(sys.stdin.readline, ""):
        _limit_processor_time(EXAMINATION_LIMIT_S)
        key, tries_end_s = line.split()
        try:
            examine_here(Path(words[is_wide]), key, widens=is_wide, tries_end_s=float(tries_end_s))
        except UserError:  # what was found cannot be kept, which the process that asked says, too
            sys.exit(2)
        say(key, flush=True)


def _limit_processor_time(time_s: float) -> None:
    """Let the system end this process when it has taken so much more."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit_s = int(used.ru_utime + used.ru_stime + time_s) + 1
    _, hard_s = resource.getrlimit(resource.RLIMIT_CPU)
    if hard_s == resource.RLIM_INFINITY or limit_s <= hard_s:
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, hard_s))


if __name__ == "__main__":
    main(sys.argv[1:])

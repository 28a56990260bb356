"""The process that examines tasks, whose keys it reads line by line.

`python -m kernels.captured.examining [--widen] FILE`
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from foundation.errors import UserError

__all__ = ["main"]


def main(words: list[str]) -> None:
    """Examine the tasks of a capture's file until the keys end."""
    # Ctrl-C ends it without a traceback, also while it imports what follows.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from kernels.captured.examination import WIDE, examine_here

    is_wide = words[0] == WIDE
    keys = (line.strip() for line in iter(sys.stdin.readline, ""))
    try:
        examine_here(Path(words[is_wide]), keys, widens=is_wide)
    except UserError:  # what was found cannot be kept, which the process that asked says, too
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])

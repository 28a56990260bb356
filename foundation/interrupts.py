"""Ctrl-C while the modules of a command are being imported."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from types import TracebackType

__all__ = ["SCRIPT", "expect_interrupts"]

SCRIPT = "rvv-tune"
_EXIT_STOPPED = 1  # what commands give after Ctrl-C


def expect_interrupts(package: str) -> None:
    """Where this package is imported to run one of its commands, end in a sentence at Ctrl-C.

    Commands themselves catch it, but Python imports a command's modules first, for a fifth of a
    second, and shows a traceback. A program that imports the package is left alone.
    """
    if _runs(package):
        sys.excepthook = _stopped


def _runs(package: str) -> bool:
    if "-m" not in sys.orig_argv:
        return Path(sys.argv[0]).name == SCRIPT
    module = sys.orig_argv[sys.orig_argv.index("-m") + 1]
    return module.partition(".")[0] == package


def _stopped(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)
        return
    with contextlib.suppress(OSError):
        os.write(2, b"stopped\n")
    os._exit(_EXIT_STOPPED)  # nothing has begun

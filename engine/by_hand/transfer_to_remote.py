#!/usr/bin/env python3
"""Copies the folder run to a board: python3 transfer_to_remote.py USER@HOST:FOLDER."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Copy the folder and return the exit status.

    Args:
        arguments: options for scp; last, the destination, as scp takes it.
    """
    if not arguments or ":" not in arguments[-1]:
        print("usage: python3 transfer_to_remote.py [SCP OPTIONS] USER@HOST:FOLDER")
        return 2
    *options, remote = arguments
    folder = Path(__file__).resolve().parent / "run"
    copied = subprocess.run(["scp", "-pr", *options, str(folder), remote], check=False)
    if copied.returncode == 0:
        print("next, in that folder on the board: python3 -I run_perf.py")
    return copied.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

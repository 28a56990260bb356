#!/usr/bin/env python3
"""Copies a board's results here: python3 report_to_host.py USER@HOST:FOLDER."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Copy the results and return the exit status.

    Args:
        arguments: options for scp; last, the board's folder with run_perf.py, as scp takes it.
    """
    if not arguments or ":" not in arguments[-1]:
        print("usage: python3 report_to_host.py [SCP OPTIONS] USER@HOST:FOLDER")
        return 2
    *options, remote = arguments
    here = Path(__file__).resolve().parent
    source = f"{remote.rstrip('/')}/perf"
    copied = subprocess.run(["scp", "-pr", *options, source, str(here / "run")], check=False)
    if copied.returncode == 0:
        print(f"next: python -m engine.collect {here}")
    return copied.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

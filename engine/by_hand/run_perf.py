#!/usr/bin/env python3
"""Runs every executable of this folder on the board: python3 -I run_perf.py."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["main"]


def main() -> int:
    """Fill perf/perf_stats.csv and return the exit status."""
    root = Path(__file__).resolve().parent
    # With -I, Python does not look for modules beside the script.
    sys.path.insert(0, str(root / "parts"))
    from engine.by_hand.board_side import run_all

    return run_all(root)


if __name__ == "__main__":
    sys.exit(main())

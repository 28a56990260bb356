"""Times the main job with warm caches: python benchmarks/search/bench_tune.py."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

__all__ = ["tune"]

TRIALS = 50
LIMIT_S = 900.0


def tune(sampler: str, storage: Path) -> tuple[dict[str, object], float]:
    """The record of a study of the default matmul, and the seconds that the command took."""
    command = [sys.executable, "-m", "engine.tune", "matmul", "--json"]
    command += ["--sampler", sampler, "--trials", str(TRIALS), "--storage", str(storage)]
    start_s = time.perf_counter()
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    wall_s = time.perf_counter() - start_s
    if run.returncode != 0:
        raise SystemExit(f"engine.tune ended with {run.returncode}: {run.stderr[-400:]}")
    return json.loads(run.stdout), wall_s


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for sampler in ("auto", "tpe", "random"):
        with tempfile.TemporaryDirectory() as folder:
            record, wall_s = tune(sampler, Path(folder, "study.journal"))
        winner = record["winner"]
        assert isinstance(winner, dict)
        print(
            f"matmul 256x512x256, {TRIALS} trials of {sampler}: {wall_s:.0f} s; the winner is "
            f"{winner['speedup_over_default']:.2f} times faster than 16x16x16 (estimated cycles)"
        )


if __name__ == "__main__":
    main()

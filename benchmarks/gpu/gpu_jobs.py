"""Runs on a GPU the jobs of docs/notes/gpu_h200.md: python benchmarks/gpu/gpu_jobs.py."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FAULTY = REPOSITORY / "tests" / "gpu_runner" / "faulty.py"
LIMIT_S = 300.0

MATMUL = "matmul --shape M=4096,N=4096,K=4096 --dtype fp16 --device cuda --trials 50"
LIST = """kernel: gemm_a8w8_blockscale
tag: A8W8_BLOCKSCALE
dtype: fp8e4nv
output_dtype: bf16
shapes:
  - {batch_sizes: [16, 128], N: 4096, K: 7168}
"""
SIZES = """- {M: 64, N: 8192, K: 4096, dtype: fp16}
"""


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    os.chdir(tempfile.mkdtemp(prefix="gpu-jobs-"))
    Path("list.yaml").write_text(LIST)
    Path("sizes.yaml").write_text(SIZES)
    run(f"engine.tune {MATMUL}", kill_after=lambda text: text.count("trial=") >= 20)
    run(f"engine.tune {MATMUL}")
    run(f"engine.tune {shlex.quote(str(FAULTY))} --device cuda")
    run("engine.find matmul --shape M=4096,N=4096,K=4096 --dtype fp16 --device cuda")
    run("engine.tune_list list.yaml --device cuda --trials 30")
    for path in sorted(Path("studies", "configs").rglob("*.json")):
        print(f"--- {path}\n{path.read_text()[:1500]}")
    run("engine.gemm --gemm_size_file sizes.yaml --device cuda --trials 30 --compare")
    print(Path("tuning_results.yaml").read_text())


def run(words: str, kill_after: Callable[[str], bool] | None = None) -> None:
    """Run a command as a user does and print its output; a status other than 0 ends this program.

    Args:
        words: the module and its arguments.
        kill_after: kill it, as `kill -9` does, once this holds for its output so far.
    """
    print(f"$ python -m {words}", flush=True)
    start_s = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", *shlex.split(words)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        print(line, end="", flush=True)
        if kill_after is not None and kill_after(text):
            process.send_signal(signal.SIGKILL)
            process.wait()
            print(f"(killed after {time.monotonic() - start_s:.0f} s)\n", flush=True)
            return
    if process.wait(LIMIT_S):
        raise SystemExit(f"it ended with status {process.returncode}")
    print(f"({time.monotonic() - start_s:.0f} s)\n", flush=True)


if __name__ == "__main__":
    main()

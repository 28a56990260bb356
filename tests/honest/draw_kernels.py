"""Captures kernels of packages for `honest_kernels.py`, in tests that a written seed draws.

`python tests/honest/draw_kernels.py FOLDER OUT` runs, of each package in FOLDER, thirty tests of
`tests/real_kernels` and writes OUT/PACKAGE.capture; of torchao, the programs of `tests/programs`.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
from pathlib import Path

SEED = 20261127
TESTS = 30
FILES = {"liger": "test_liger", "fla": "test_fla_", "flag_gems": "test_flag_gems"}
TORCHAO = (
    *("hadamard_qkv", "fp8_tensorwise", "sdpa_quantize", "blockwise_fp8_gemm"),
    *("per_group_rowwise_scales", "rope_quantize", "hadamard_rope_quantize"),
)
HERE = Path(__file__).parents[1]
# What a program that takes longer had launched by then is captured.
LIMIT_S = 900


def main() -> None:
    packages, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    environment = os.environ | {"REAL_KERNELS": str(packages), "PYTHONPATH": str(packages)}
    for package, files in FILES.items():
        paths = sorted((HERE / "real_kernels").glob(f"{files}*.py"))
        collected = ["-m", "pytest", "--collect-only", "-q", *map(str, paths)]
        lines = _run(collected, environment, capture_output=True).stdout.splitlines()
        tests = sorted(line for line in lines if "::" in line)
        drawn = random.Random(f"{SEED} {package}").sample(tests, min(TESTS, len(tests)))
        program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *drawn]
        _captured(out / f"{package}.capture", program, environment)
    for name in TORCHAO:
        program = [sys.executable, str(HERE / "programs" / "sixty" / "quantised.py"), name]
        _captured(out / f"torchao-{name}.capture", program, environment)


def _captured(path: Path, program: list[str], environment: dict[str, str]) -> None:
    if not path.exists():
        with contextlib.suppress(subprocess.TimeoutExpired):
            _run(["-m", "engine", "capture", "-o", str(path), "--", *program], environment)


def _run(
    words: list[str], environment: dict[str, str], *, capture_output: bool = False
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        env=environment,
        check=False,
        text=True,
        timeout=LIMIT_S,
        capture_output=capture_output,
    )


if __name__ == "__main__":
    main()

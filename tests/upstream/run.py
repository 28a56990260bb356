"""Runs Triton's own tests of the language on the host or in QEMU: `make test-upstream`.

Nothing is fetched: TRITON_TESTS names the folder python/test/unit of a checkout of Triton, or the
checkout. Nothing is written there. `exclusions.toml` lists what does not apply to a CPU. Those
tests run as well, so that an exclusion that is not needed any more is noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from exclusions import read_exclusions
from figures import Outcome, print_figures, sum_up

from triton_rvv.targets.target import SUPPORTED_VLEN_BITS

VARIABLE = "TRITON_TESTS"
FILES = (
    *("language/test_core.py", "language/test_standard.py", "language/test_random.py"),
    *("language/test_conversions.py", "language/test_tensor_descriptor.py"),
    *("language/test_block_pointer.py", "language/test_libdevice.py", "test_debug.py"),
    *("language/test_subprocess.py", "language/test_annotations.py", "language/test_tuple.py"),
)
TARGETS = ("host", *(f"rvv{vlen_bits}" for vlen_bits in SUPPORTED_VLEN_BITS))
# What has to pass of the tests that apply.
SHARE = 0.99
# Of one test; its worker is ended then, since code that loops does not return to Python.
LIMIT_S = 600

_HERE = Path(__file__).resolve().parent
_PROJECT = _HERE.parents[1]
LIST = _HERE / "exclusions.toml"


def main(argv: Sequence[str] | None = None) -> int:
    """Run them and print the figures; 0 where the share passes, 1 where not, 2 without tests."""
    arguments = _parse(argv)
    try:
        unit = _unit_folder(os.environ.get(VARIABLE, ""), arguments.files)
    except ValueError as mistake:
        print(f"test-upstream: {mistake}", file=sys.stderr)
        return 2
    exclusions = read_exclusions(LIST, arguments.target)
    # A worker may still write there where pytest was ended.
    temporary = tempfile.TemporaryDirectory(prefix="triton-upstream-", ignore_cleanup_errors=True)
    with temporary as folder:
        outcomes_file = Path(folder) / "outcomes.jsonl"
        files = [str(unit / file) for file in arguments.files]
        command = [*_pytest(unit, arguments.jobs), *files]
        command += ["--upstream-sample", str(arguments.sample)]
        command += ["--upstream-outcomes", str(outcomes_file)]
        if arguments.target != "host":
            command += ["--upstream-emulated", str(LIST)]
        log = Path(folder) / "log.txt"
        with log.open("w") as output:
            done = subprocess.run(
                command, cwd=folder, env=_environment(folder, arguments.target),
                stdout=output, stderr=output, check=False,
            )  # fmt: skip
        outcomes = _read(outcomes_file)
        if not outcomes:
            print(log.read_text()[-4000:])
            print("test-upstream: no test ran; pytest's last lines are above", file=sys.stderr)
            return 2
    is_complete = done.returncode in (0, 1)  # every test passed, or some failed
    # Of a part of the tests nobody can say that an exclusion matches none.
    is_whole = arguments.sample == 1 and set(arguments.files) == set(FILES)
    figures = sum_up(outcomes, exclusions, is_whole and is_complete)
    print_figures(figures, arguments.verbose)
    if not is_complete:
        print("test-upstream: pytest ended before the last test", file=sys.stderr)
    return 0 if is_complete and figures.share >= SHARE else 1


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/upstream/run.py", description=__doc__)
    parser.add_argument(
        "--files", nargs="+", choices=FILES, default=FILES, metavar="FILE",
        help="run only these: " + ", ".join(FILES),
    )  # fmt: skip
    parser.add_argument(
        "--target", default="host", choices=TARGETS, help="where kernels run (host)"
    )
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="run one test in N")
    parser.add_argument("--jobs", default="auto", help="tests at the same time (one per core)")
    parser.add_argument("--verbose", action="store_true", help="print every test that failed")
    return parser.parse_args(argv)


def _unit_folder(given: str, files: Sequence[str]) -> Path:
    """The folder with the tests.

    Raises:
        ValueError: with a sentence for the user, where it is not there.
    """
    wanted = "python/test/unit of a checkout of Triton 3.7"
    if not given:
        raise ValueError(f"set {VARIABLE} to the folder {wanted}")
    for unit in (Path(given).resolve(), Path(given).resolve() / "python/test/unit"):
        missing = [file for file in files if not (unit / file).is_file()]
        if len(missing) == len(files):
            continue
        if missing:
            raise ValueError(f"{unit} lacks {', '.join(missing)}: set {VARIABLE} to {wanted}")
        if not (unit.parent / "conftest.py").is_file():
            raise ValueError(f"{unit.parent} lacks conftest.py: set {VARIABLE} to {wanted}")
        return unit
    raise ValueError(f"{given} holds no tests of Triton's language: set {VARIABLE} to {wanted}")


def _pytest(unit: Path, jobs: str) -> list[str]:
    """The command, which leaves no file in the folder of the tests."""
    return [
        *(sys.executable, "-m", "pytest", "-q", "--device", "cpu"),
        *("-c", os.devnull, "--rootdir", str(unit.parent), "--confcutdir", str(unit.parent)),
        *("-p", "no:cacheprovider", "-p", "upstream_plugin", "-n", jobs, "--dist", "worksteal"),
        # Every crash costs a worker.
        *("--max-worker-restart", "10000"),
        *("--timeout", str(LIMIT_S), "--timeout-method", "thread"),
    ]


def _environment(folder: str, target: str) -> dict[str, str]:
    path = os.pathsep.join([str(_HERE), str(_PROJECT), os.environ.get("PYTHONPATH", "")])
    return {
        "TRITON_CACHE_DIR": f"{folder}/cache",
        **os.environ,
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "TRITON_RVV_TARGET": target,
    }


def _read(file: Path) -> list[Outcome]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [Outcome(**json.loads(line)) for line in lines]


if __name__ == "__main__":
    sys.exit(main())

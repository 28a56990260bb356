"""How strong the tests are: how many mutants of the source they notice.

`python tests/mutants/mutation_table.py --seed 37` draws mutants, each one small edit of the source.
In a clone of HEAD it runs all tests once, to see which reach which mutant, and then for each mutant
those that reach it, until one fails. A test that fails counts only if it passes without the mutant.
What was found is kept in the folder, and a later run does the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from mutants import PARTS, Mutant, draw
from probes import PROBE_MODULE, insert_probes, reaching_tests, write_probe_module

_PROJECT = Path(__file__).resolve().parents[2]
SET_UP_LIMIT_S = 1800
TESTS_LIMIT_S = 7200
# A mutant may loop for ever.
TEST_LIMIT_S = 120
# Tests that run in one process first: several take longer to start than most mutants live.
FIRST_TESTS = 20


@dataclass(frozen=True)
class Verdict:
    """What the tests made of a mutant.

    Args:
        mutant: the edit, as text.
        part: the folder that it was drawn from.
        reached_by: how many tests run the expression.
        noticed_by: the first that failed, or the empty string.
        is_cut: whether the time for it ended before its tests had run.
    """

    mutant: str
    part: str
    reached_by: int
    noticed_by: str
    is_cut: bool = False


class _CutError(Exception):
    """The time for the tests of a mutant has ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Try the mutants, and print those that no test noticed and a table by part."""
    arguments = _parse(argv)
    commit = _git(_PROJECT, "rev-parse", "--short=12", "HEAD").strip()
    folder = (arguments.folder / f"{commit}-{arguments.seed}").resolve()
    project = _clone(folder)
    mutants = draw(arguments.seed, project)
    notes = folder / "reached.tsv"
    if not notes.exists():
        _note_what_tests_reach(project, mutants, notes, arguments.tests)
    kept = folder / "verdicts.jsonl"
    known = len(kept.read_text().splitlines()) if kept.exists() else 0
    for number, mutant in list(enumerate(mutants))[known:]:
        verdict = _verdict(project, mutant, reaching_tests(notes, number), arguments.limit)
        with kept.open("a") as file:
            file.write(json.dumps(asdict(verdict)) + "\n")
        print(f"{number + 1} of {len(mutants)}: {mutant}: {verdict.noticed_by or 'not noticed'}")
    _print_table([Verdict(**json.loads(line)) for line in kept.read_text().splitlines()])
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=37, help="which mutants are drawn")
    parser.add_argument("tests", nargs="*", help="as pytest takes them; all where none is given")
    parser.add_argument(
        "--limit", type=float, default=TESTS_LIMIT_S, help="seconds for the tests of a mutant"
    )
    parser.add_argument(
        "--folder", type=Path, default=_PROJECT / ".build" / "mutants", help="where the clone lies"
    )
    return parser.parse_args(argv)


def _clone(folder: Path) -> Path:
    """A clone of HEAD, set up, without edits."""
    project = folder / "project"
    if not project.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _git(folder, "clone", "--quiet", str(_PROJECT), "project")
    subprocess.run(["./setup.sh", "test"], cwd=project, check=True, timeout=SET_UP_LIMIT_S)
    _git(project, "checkout", "--quiet", ".")
    return project


def _note_what_tests_reach(
    project: Path, mutants: Sequence[Mutant], notes: Path, tests: Sequence[str]
) -> None:
    partial = notes.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    purelib = sysconfig.get_path("purelib", vars={"base": str(project / ".venv")})
    write_probe_module(Path(purelib), partial)
    insert_probes(mutants, project)
    try:
        done = _pytest(project, ["-q", "-p", PROBE_MODULE, *tests], "auto", TESTS_LIMIT_S)
    finally:
        _git(project, "checkout", "--quiet", ".")
    print(done.stdout[-2000:])
    partial.rename(notes)


def _verdict(project: Path, mutant: Mutant, tests: list[str], limit_s: float) -> Verdict:
    part = next(part for part in PARTS if mutant.file.startswith(part))
    try:
        for chosen, processes in ((tests[:FIRST_TESTS], "0"), (tests[FIRST_TESTS:], "auto")):
            failed = _noticed_by(project, mutant, chosen, processes, limit_s)
            if failed:
                return Verdict(str(mutant), part, len(tests), failed)
    except _CutError:
        return Verdict(str(mutant), part, len(tests), "", is_cut=True)
    return Verdict(str(mutant), part, len(tests), "")


def _noticed_by(
    project: Path, mutant: Mutant, tests: list[str], processes: str, limit_s: float
) -> str:
    """The first of the tests that fails with the mutant alone, or the empty string."""
    while tests:
        failed = _first_failure(project, mutant, tests, processes, limit_s)
        # Where no test is named, they could not even be collected.
        if not failed or failed not in tests:
            return failed
        if _pytest(project, [failed], "0", TESTS_LIMIT_S).returncode == 0:
            return failed
        tests = [test for test in tests if test != failed]
    return ""


def _first_failure(
    project: Path, mutant: Mutant, tests: Sequence[str], processes: str, limit_s: float
) -> str:
    """The first test that fails with the mutant, or the empty string."""
    file = project / mutant.file
    original = file.read_text()
    file.write_text(original[: mutant.start] + mutant.new + original[mutant.end :])
    chosen = project.parent / "tests.txt"
    chosen.write_text("\n".join(tests))
    try:
        arguments = ["-q", "-x", f"--timeout={TEST_LIMIT_S}", f"@{chosen}"]
        done = _pytest(project, arguments, processes, limit_s)
    finally:
        file.write_text(original)
    if done.returncode == pytest.ExitCode.OK:
        return ""
    if done.returncode == pytest.ExitCode.USAGE_ERROR:
        raise RuntimeError(f"the tests that reach {mutant} cannot be chosen: {done.stderr}")
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    named = [test for line in failures for test in tests if line.split(" ", 1)[1].startswith(test)]
    return max(named, key=len, default=f"pytest's status {done.returncode}")


def _pytest(
    project: Path, arguments: Sequence[str], processes: str, limit_s: float
) -> subprocess.CompletedProcess[str]:
    command = [".venv/bin/python", "-m", "pytest", "-n", processes, "--dist", "worksteal"]
    command += arguments
    process = subprocess.Popen(
        command,
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that all that it started can be ended
    )
    try:
        out, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise _CutError from None
    return subprocess.CompletedProcess(command, process.returncode, out, errors)


def _print_table(verdicts: Sequence[Verdict]) -> None:
    print("\nnot noticed:")
    for verdict in verdicts:
        if not verdict.noticed_by:
            cut = ", whose time ended" if verdict.is_cut else ""
            print(f"  {verdict.mutant} (reached by {verdict.reached_by} tests{cut})")
    drawn = Counter(verdict.part for verdict in verdicts)
    reached = Counter(verdict.part for verdict in verdicts if verdict.reached_by)
    noticed = Counter(verdict.part for verdict in verdicts if verdict.noticed_by)
    print("\n| part | mutants | reached by a test | noticed |\n|---|---|---|---|")
    for part in PARTS:
        print(f"| {part} | {drawn[part]} | {reached[part]} | {noticed[part]} |")
    print(f"| all | {drawn.total()} | {reached.total()} | {noticed.total()} |")


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=300
    ).stdout


if __name__ == "__main__":
    sys.exit(main())

"""How strong the tests are: how many mutants of the source they notice.

`python tests/mutants/mutation_table.py --seed 20261126` draws mutants, each one small edit of the
source. In a clone of HEAD it runs the short tests once, to see which reach which mutant and how
long each takes. Then it tries each mutant: the tests that reach it, the fastest first, until one
fails. One that survives meets the long tests of the files that reach it, so that the table tells
what `make test` notices and what only `make test-long` does. A test that fails counts only if it
passes without the mutant. The parts come in turns, so that the first N are a fair sample. What was
found is kept in the folder, and a later run does the rest.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from forked_runs import ForkedRuns, Run, forked_runs
from mutants import PARTS, Mutant, draw
from probes import PROBE_MODULE, insert_probes, reaching_tests, write_probe_module

_PROJECT = Path(__file__).resolve().parents[2]
SET_UP_LIMIT_S = 1800
TESTS_LIMIT_S = 7200
# A mutant may loop for ever.
TEST_LIMIT_S = 120
# Tests in one run of pytest, which collects them all before the first: few, then all others.
FIRST_TESTS = 20
# Files whose long tests a mutant meets, those with the fastest tests that reach it.
LONG_FILES = 4


@dataclass(frozen=True)
class Verdict:
    """What the tests made of a mutant.

    Args:
        mutant: the edit, as text.
        part: the folder that it was drawn from.
        reached_by: how many tests run the expression.
        noticed_by: the first that failed, or the empty string.
        is_long: whether that is a long test, and no short one notices it.
        is_cut: whether the time for it ended before its tests had run.
    """

    mutant: str
    part: str
    reached_by: int
    noticed_by: str
    is_long: bool = False
    is_cut: bool = False


class _CutError(Exception):
    """The time for the tests of a mutant has ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Try the mutants, and print those that no test noticed and a table by part."""
    arguments = _parse(argv)
    commit = _git(_PROJECT, "rev-parse", "--short=12", "HEAD").strip()
    folder = (arguments.folder / f"{commit}-{arguments.seed}").resolve()
    project = _clone(folder)
    mutants = _in_turns(draw(arguments.seed, project))
    notes = folder / "reached.tsv"
    if not notes.exists():
        _note_what_tests_reach(project, mutants, notes, arguments.tests)
    kept = folder / "verdicts.jsonl"
    known = len(kept.read_text().splitlines()) if kept.exists() else 0
    with forked_runs(project) as runs:
        for number in range(known, min(len(mutants), arguments.first)):
            mutant, tests = mutants[number], reaching_tests(notes, number)
            verdict = _verdict(Trial(runs, project, mutant, arguments.limit), tests)
            with kept.open("a") as file:
                file.write(json.dumps(asdict(verdict)) + "\n")
            noticed = verdict.noticed_by or "not noticed"
            print(f"{number + 1} of {len(mutants)}: {mutant}: {noticed}", flush=True)
    _print_table([Verdict(**json.loads(line)) for line in kept.read_text().splitlines()])
    return 0


def _in_turns(mutants: Sequence[Mutant]) -> list[Mutant]:
    """The same ones, in which each part has its share of the first N."""
    places = Counter[str]()
    shares = []
    for mutant in mutants:
        part = _part(mutant)
        shares.append(((places[part] + 0.5) / PARTS[part], mutant))
        places[part] += 1
    return [mutant for _, mutant in sorted(shares, key=lambda each: each[0])]


def _part(mutant: Mutant) -> str:
    return next(part for part in PARTS if mutant.file.startswith(part))


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=37, help="which mutants are drawn")
    parser.add_argument("tests", nargs="*", help="as pytest takes them; all where none is given")
    parser.add_argument(
        "--limit", type=float, default=TESTS_LIMIT_S, help="seconds for the tests of a mutant"
    )
    parser.add_argument("--first", type=int, default=sum(PARTS.values()), help="how many to try")
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
        done = _pytest(project, ["-q", "-p", PROBE_MODULE, *tests], TESTS_LIMIT_S)
    finally:
        _git(project, "checkout", "--quiet", ".")
    print(done.stdout[-2000:])
    partial.rename(notes)


@dataclass(frozen=True)
class Trial:
    """A mutant and what runs tests against it.

    Args:
        runs: of pytest in the clone.
        project: the clone.
        mutant: the edit.
        limit_s: seconds for one run of tests.
    """

    runs: ForkedRuns
    project: Path
    mutant: Mutant
    limit_s: float

    def run(self, arguments: Sequence[str]) -> Run:
        """Run pytest with the mutant in the source.

        Raises:
            _CutError: if it does not end in time.
        """
        file = self.project / self.mutant.file
        original = file.read_text()
        start, end = self.mutant.start, self.mutant.end
        file.write_text(original[:start] + self.mutant.new + original[end:])
        try:
            done = self.runs.run(arguments, self.limit_s)
        finally:
            file.write_text(original)
        if done.status is None:
            raise _CutError
        return done

    def passes_without(self, test: str) -> bool:
        """Whether a test passes where there is no mutant."""
        return self.runs.run(["-q", "-m", "", test], TESTS_LIMIT_S).status == pytest.ExitCode.OK


def _verdict(trial: Trial, tests: list[str]) -> Verdict:
    described = (str(trial.mutant), _part(trial.mutant), len(tests))
    is_cut = False
    for chosen in (tests[:FIRST_TESTS], tests[FIRST_TESTS:]):
        try:
            failed = _noticed_by(trial, chosen)
        except _CutError:
            is_cut = True
            break
        if failed:
            return Verdict(*described, failed)
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))[:LONG_FILES]
    if files:
        try:
            failed = _noticed_by(trial, files, mark="long")
        except _CutError:
            return Verdict(*described, "", is_cut=True)
        if failed:
            return Verdict(*described, failed, is_long=True)
    return Verdict(*described, "", is_cut=is_cut)


def _noticed_by(trial: Trial, tests: list[str], mark: str = "not long") -> str:
    """The first of the tests that fails with the mutant alone, or the empty string.

    Args:
        trial: the mutant.
        tests: their ids, or files.
        mark: which of them, as pytest's -m.

    Raises:
        _CutError: if they do not end in time.
    """
    left_out: list[str] = []
    while tests:
        chosen = trial.project.parent / "tests.txt"
        chosen.write_text("\n".join(tests))
        without = [f"--deselect={test}" for test in left_out]
        arguments = ["-q", "-x", "-m", mark, f"--timeout={TEST_LIMIT_S}", *without, f"@{chosen}"]
        done = trial.run(arguments)
        if done.status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return ""
        if done.status == pytest.ExitCode.USAGE_ERROR:
            raise RuntimeError(f"the tests that reach {trial.mutant} cannot be chosen: {done.out}")
        failed = _first_failure(done)
        # Where no test is named, they could not even be collected.
        if not failed or trial.passes_without(failed):
            return failed or f"pytest's status {done.status}"
        tests = [test for test in tests if test != failed]
        left_out.append(failed)
    return ""


def _first_failure(done: Run) -> str:
    """The test that pytest names as failed, or the empty string."""
    named = re.findall(r"^(?:FAILED|ERROR) (tests/\S+::.*?)(?: - .*)?$", done.out, re.MULTILINE)
    return named[0] if named else ""


def _pytest(
    project: Path, arguments: Sequence[str], limit_s: float
) -> subprocess.CompletedProcess[str]:
    command = [".venv/bin/python", "-m", "pytest", "-n", "auto", "--dist", "worksteal", *arguments]
    return subprocess.run(
        command, cwd=project, capture_output=True, text=True, timeout=limit_s, check=False
    )


def _print_table(verdicts: Sequence[Verdict]) -> None:
    print("\nnot noticed:")
    for verdict in verdicts:
        if not verdict.noticed_by:
            cut = ", whose time ended" if verdict.is_cut else ""
            print(f"  {verdict.mutant} (reached by {verdict.reached_by} tests{cut})")
    columns = (
        Counter(verdict.part for verdict in verdicts),
        Counter(verdict.part for verdict in verdicts if verdict.reached_by),
        Counter(verdict.part for verdict in verdicts if verdict.noticed_by and not verdict.is_long),
        Counter(verdict.part for verdict in verdicts if verdict.is_long),
    )
    print("\n| part | mutants | reached | noticed by `make test` | by `make test-long` only |")
    print("|---|---|---|---|---|")
    for part in PARTS:
        print("|".join(["", f" {part} ", *(f" {column[part]} " for column in columns), ""]))
    print("|".join(["", " all ", *(f" {column.total()} " for column in columns), ""]))


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=300
    ).stdout


if __name__ == "__main__":
    sys.exit(main())

"""Which tests reach which mutants: the project with a probe at each, and its tests run once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mutants import Mutant

__all__ = ["PROBE_MODULE", "insert_probes", "reaching_tests", "write_probe_module"]

PROBE_MODULE = "mutant_probe"

# Notes the first time that a process reaches a mutant in a test. pytest keeps the name of the test
# in the environment, so processes that a test starts know it too. As a plug-in of pytest, it notes
# how long each test takes.
_MODULE = """
import os

_noted = set()


def reached(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if (number, test) not in _noted:
        _noted.add((number, test))
        with open({notes!r}, "a") as file:
            file.write(f"{{number}}\\t{{test}}\\n")


def pytest_runtest_logreport(report):
    with open({notes!r}, "a") as file:
        file.write(f"{{report.duration:.3f}} s\\t{{report.nodeid}}\\n")
"""


def write_probe_module(packages: Path, notes: Path) -> None:
    """Put what probes call among the installed packages, so that every process finds it.

    Args:
        packages: the folder of the environment's packages.
        notes: the file that it appends to.
    """
    (packages / f"{PROBE_MODULE}.py").write_text(_MODULE.format(notes=str(notes)))


def insert_probes(mutants: Sequence[Mutant], root: Path) -> None:
    """Have each mutant's expression, unchanged, note that it was reached.

    Args:
        mutants: at most one of a line, as `draw` gives them.
        root: the project whose files are changed.
    """
    for file in {mutant.file for mutant in mutants}:
        text = (root / file).read_text()
        of_file = [(number, m) for number, m in enumerate(mutants) if m.file == file]
        # From behind, so that places before stay right; of two, one in the other, the inner first.
        for number, mutant in sorted(of_file, key=lambda item: -item[1].start):
            probe = f'(__import__("mutant_probe").reached({number}), '
            text = f"{text[: mutant.start]}{probe}{text[mutant.start :]}"
            end = mutant.end + len(probe) + _longer_inside(of_file, mutant)
            text = f"{text[:end]})[1]{text[end:]}"
        (root / file).write_text(text)


def _longer_inside(of_file: Sequence[tuple[int, Mutant]], outer: Mutant) -> int:
    """By how many characters probes inside an expression have made it longer."""
    return sum(
        len(f'(__import__("mutant_probe").reached({number}), )[1]')
        for number, inner in of_file
        if outer.start < inner.start and inner.end <= outer.end
    )


def reaching_tests(notes: Path, number: int) -> list[str]:
    """Tests that reached a mutant, the fastest of each file in turn: different ones come early."""
    of_files: dict[str, dict[str, None]] = {}
    times_s: dict[str, float] = {}
    for line in notes.read_text().splitlines():
        reached, _, test = line.partition("\t")
        if reached.endswith(" s"):
            times_s[test] = max(float(reached[:-2]), times_s.get(test, 0.0))
        elif int(reached) == number and test:
            of_files.setdefault(test.partition("::")[0], {})[test] = None
    rounds = []
    for tests in of_files.values():
        in_order = sorted(tests, key=lambda test: times_s.get(test, 0.0))
        rounds += [(place, times_s.get(test, 0.0), test) for place, test in enumerate(in_order)]
    return [test for _, _, test in sorted(rounds)]

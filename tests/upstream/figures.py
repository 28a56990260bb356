"""The figures of a run of Triton's own tests: what applies, what passes, what is stale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from exclusions import Exclusion, excluding

__all__ = ["Figures", "FileFigures", "Outcome", "print_figures", "sum_up"]


@dataclass(frozen=True)
class Outcome:
    """How a test ended, or one of its parts: "passed", "failed" or "skipped"."""

    test: str
    outcome: str
    reason: str
    seconds: float


@dataclass
class FileFigures:
    """Counts of the tests of one file, by what became of them."""

    passed: int = 0
    failed: list[Outcome] = field(default_factory=list)
    excluded: int = 0
    skipped: int = 0

    @property
    def applies(self) -> int:
        """How many tests mean something on a CPU."""
        return self.passed + len(self.failed)


@dataclass(frozen=True)
class Figures:
    """The figures of every file.

    Args:
        files: by the file's name.
        exclusions: how many tests each of those excludes that exclude any.
        skips: how many tests Triton itself skips on a CPU, by its reason.
        stale: sentences about exclusions that are not needed.
        seconds: what the tests took, one after another.
    """

    files: dict[str, FileFigures]
    exclusions: Counter[str]
    skips: Counter[str]
    stale: tuple[str, ...]
    seconds: float

    @property
    def share(self) -> float:
        """The part that passes of what applies."""
        applies = sum(file.applies for file in self.files.values())
        return sum(file.passed for file in self.files.values()) / max(applies, 1)


def sum_up(
    outcomes: Sequence[Outcome], exclusions: tuple[Exclusion, ...], is_whole: bool
) -> Figures:
    """Count; `is_whole` says that no test was left out, so that every exclusion has to match."""
    files: dict[str, FileFigures] = {}
    by_exclusion: dict[Exclusion, Counter[str]] = {e: Counter() for e in exclusions}
    skips: Counter[str] = Counter()
    for outcome in _worst(outcomes):
        name = outcome.test.split("::", 1)[0].rsplit("/", 1)[-1]
        file = files.setdefault(name, FileFigures())
        if exclusion := excluding(outcome.test, exclusions):
            file.excluded += 1
            by_exclusion[exclusion][outcome.outcome] += 1
        elif outcome.outcome == "skipped":
            file.skipped += 1
            skips[outcome.reason] += 1
        elif outcome.outcome == "failed":
            file.failed.append(outcome)
        else:
            file.passed += 1
    stale = [_stale(exclusion, counts, is_whole) for exclusion, counts in by_exclusion.items()]
    reasons: Counter[str] = Counter()
    for exclusion, counts in by_exclusion.items():
        reasons[exclusion.reason] += counts.total()
    seconds = sum(outcome.seconds for outcome in outcomes)
    return Figures(files, +reasons, skips, tuple(filter(None, stale)), seconds)


def _worst(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """One outcome for each test: that of the part that failed, where one did."""
    worst: dict[str, Outcome] = {}
    for outcome in outcomes:
        if outcome.outcome == "failed" or outcome.test not in worst:
            worst[outcome.test] = outcome
    return list(worst.values())


def _stale(exclusion: Exclusion, counts: Counter[str], is_whole: bool) -> str:
    """What is wrong with an exclusion; nothing where one of its tests fails."""
    if not counts and is_whole:
        return f"matches no test: {exclusion.tests}"
    if counts["passed"]:
        return f"excludes {counts['passed']} tests that pass: {exclusion.tests}"
    if counts and counts.keys() <= {"skipped"} and not exclusion.emulation_only:
        return f"excludes only tests that are skipped anyway: {exclusion.tests}"
    return ""


def print_figures(figures: Figures, verbose: bool) -> None:
    """Print a table of the files, what is left out and why, and what failed."""
    row = "{:<28}{:>8}{:>8}{:>8}{:>9}{:>9}{:>8}".format
    print(row("file", "applies", "passed", "failed", "excluded", "skipped", "share"))
    for name, file in figures.files.items():
        counts = (file.applies, file.passed, len(file.failed), file.excluded, file.skipped)
        print(row(name, *counts, f"{file.passed / max(file.applies, 1):.2%}"))
    _print_counts("excluded:", figures.exclusions)
    _print_counts("skipped by Triton itself:", figures.skips)
    failed = [outcome for file in figures.files.values() for outcome in file.failed]
    if verbose:
        for outcome in failed:
            print(f"failed: {outcome.test}: {_first_line(outcome.reason)}")
    else:
        _print_counts("failed:", Counter(o.test.split("[", 1)[0] for o in failed))
    for sentence in figures.stale:
        print(f"stale: exclusions.toml {sentence}")
    print(f"{figures.share:.2%} of what applies passes; {figures.seconds:.0f} s of tests")


def _print_counts(title: str, counts: Counter[str]) -> None:
    if counts:
        print(title)
    for text, count in counts.most_common():
        print(f"{count:>7}  {_first_line(text)}")


def _first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return (lines or [""])[0][:160]

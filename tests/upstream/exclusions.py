"""Which of Triton's own tests do not apply to a CPU, and why."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Exclusion", "excluding", "read_exclusions"]


@dataclass(frozen=True)
class Exclusion:
    """Tests that do not apply.

    Args:
        tests: a regular expression for the whole of `test_file.py::test_name[parameters]`.
        reason: why they do not apply.
        emulation_only: whether that holds in QEMU only, where they are not run at all.
    """

    tests: str
    reason: str
    emulation_only: bool = False

    def matches(self, test: str) -> bool:
        """Whether the test is one of these; its name may start with folders."""
        path, name = test.split("::", 1)
        return re.fullmatch(self.tests, f"{Path(path).name}::{name}", re.DOTALL) is not None


def read_exclusions(file: Path, target: str) -> tuple[Exclusion, ...]:
    """The exclusions of a TOML file for a target.

    Args:
        file: has a list `exclude` of tables with `tests`, `reason` and perhaps `emulation_only`.
        target: "host", or what QEMU emulates.
    """
    exclusions = [Exclusion(**table) for table in tomllib.loads(file.read_text())["exclude"]]
    return tuple(e for e in exclusions if target != "host" or not e.emulation_only)


def excluding(test: str, exclusions: tuple[Exclusion, ...]) -> Exclusion | None:
    """The first exclusion that a test falls under, if any."""
    return next((exclusion for exclusion in exclusions if exclusion.matches(test)), None)

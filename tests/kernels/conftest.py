"""The problem that a file with a kernel in it describes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem


@pytest.fixture
def problem_of(tmp_path: Path) -> Callable[..., Problem]:
    def make(text: str, name: str = "twice", shape: dict | None = None, dtype=None) -> Problem:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        return make_problem(load_kernel(str(path)), shape or {}, dtype)

    return make

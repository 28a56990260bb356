"""Sixty kernels of eight packages, as their users call them: captured, tuned and applied.

`REAL_KERNELS=folder` names the folder that holds the packages; see requirements.txt and, for
vLLM and SGLang, requirements_servers.txt. Without it, they are those of `make test-long`.
`SIXTY_DEVICE` is the board to tune on; where it is not given, `cuda` if there is one, or `host`.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from listed import listed
from road import Passage, travel

INSTALLED = Path(__file__).parents[2] / ".build" / "programs"
PACKAGES = os.environ.get("REAL_KERNELS", str(INSTALLED))
PASSAGES: list[Passage] = []
LIMIT_S = 600
HERE = "cuda" if torch.cuda.is_available() else "host"


def parameters() -> Iterator[Any]:
    for file, program in listed():
        yield pytest.param(file, program, id=f"{file}-{program.operator}")


@pytest.fixture(scope="module", autouse=True)
def _table() -> Iterator[None]:
    yield
    for passage in PASSAGES:
        print(f"{'pass' if passage.passed else 'fail'} {passage.program}: {passage.sentence}")
    print(f"{sum(passage.passed for passage in PASSAGES)} of {len(PASSAGES)} passed")


@pytest.mark.long
@pytest.mark.timeout(4 * LIMIT_S)
@pytest.mark.parametrize(("file", "program"), list(parameters()))
def test_program(file: str, program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PACKAGES)
    if importlib.util.find_spec(program.package) is None:
        pytest.skip(
            f"{program.package} is not installed: pip install --no-deps --target FOLDER "
            "-r tests/programs/requirements.txt -r tests/programs/requirements_servers.txt, "
            "then REAL_KERNELS=FOLDER"
        )
    monkeypatch.setenv("PYTHONPATH", PACKAGES)
    passage = travel(
        *(file, program.operator, program.kernel, program.types),
        *(tmp_path / "program.capture", os.environ.get("SIXTY_DEVICE", HERE), LIMIT_S),
    )
    PASSAGES.append(passage)
    assert passage.passed, passage.sentence

"""The examples about the host run as they stand in the pages."""

from __future__ import annotations

import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import triton
from documents import REPOSITORY, code_blocks

from triton_rvv.__main__ import main


@pytest.fixture
def driver() -> Iterator[None]:
    """Triton's driver stays as it was."""
    found = triton.runtime.driver
    before = found._active
    yield
    found._active = before


@pytest.mark.usefixtures("driver")
def test_the_example_of_a_call_prints_what_it_should(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = (
        block
        for block in code_blocks(REPOSITORY / "docs/guides/host.md")
        if block.language == "python"
    )
    script = tmp_path / "example.py"
    script.write_text(example.text)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out == f"{2.0 * sum(range(1000))}\n"


def test_the_compile_command_writes_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (command,) = (
        line
        for block in code_blocks(REPOSITORY / "docs/reference/compiler.md")
        for line in block.text.splitlines()
        if "-m triton_rvv compile" in line
    )
    words = shlex.split(command)[3:]
    monkeypatch.chdir(tmp_path)
    words[1] = str(REPOSITORY / words[1])
    assert main(words) == 0
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".ttir", ".llir", ".s", ".o"}

"""The commands of Start and of each guide run in their order, as a reader pastes them.

With fewer trials than the pages have. Left out are commands that need a board, a GPU, a cluster,
the reader's own program, or another tuner's table.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from command_here import run_here

from engine.__main__ import COMMANDS

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("ray_for_tests")]

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGES = ["start/ten_minutes.md", *(f"guides/{path.name}" for path in DOCS.glob("guides/*.md"))]
ELSEWHERE = re.compile(
    r"laptop|desk|jupiter|ssh:|cuda|hip|HOST|block\.capture|a8w8_tuned|--gpu|vllm|--missing"
    r"|axpy\.py|cache\.json|\.calibration\.json|collect|made_up"
)
SEARCHES = {"tune", "gemm", "tune_list"}
TRIALS = ["--trials", "3"]
REPLAYS = ["--trials", "12", "--seeds", "1"]
# Before pages about stored studies.
FIRST = [["tune", "vector_add"], ["tune", "vector_add", "--shape", "N=4096"], ["tune", "softmax"]]


def module_and_words(line: str) -> tuple[str, list[str]] | None:
    """The module of `engine` that a line of a page runs, with its arguments."""
    words = shlex.split(line.replace(".venv/bin/", ""), comments=True)
    if words[:2] == ["python", "-m"] and words[2].startswith("engine."):
        return words[2].removeprefix("engine."), words[3:]
    if words[:1] == ["rvv-tune"] and COMMANDS[words[1]].module.startswith("engine."):
        return COMMANDS[words[1]].module.removeprefix("engine."), words[2:]
    return None


def path_of(page: str) -> list[tuple[str, list[str]]]:
    """The commands of a page that run anywhere."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines() if not ELSEWHERE.search(line)]
    return [command for line in lines if (command := module_and_words(line)) is not None]


def in_few_trials(name: str, words: list[str]) -> list[str]:
    text = re.sub(r"--(trials|timeout) \d+", "", shlex.join(words))
    if name == "check_key":  # it asks for ten at least
        return [*shlex.split(text), "--trials", "10"]
    if name == "bench":
        return [*shlex.split(text), *REPLAYS]
    return [
        *shlex.split(text),
        *(TRIALS if name in SEARCHES and "--compare_wo" not in text else []),
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if path_of(page)])
def test_a_readers_path_runs(page: str, tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    shutil.copy(REPOSITORY / "studies" / "small_products.yaml", tmp_path / "studies")
    shown = r"^`([^`\n]+\.(?:py|yaml))`.*?:\n\n```\w+\n(.*?)^```"
    for name, text in re.findall(shown, (DOCS / page).read_text(), re.DOTALL | re.MULTILINE):
        if not (page.endswith("add_a_kernel.md") or name == "matvec.py"):
            (tmp_path / name).write_text(text)
    commands = path_of(page)
    studies: list[str] = []
    if any("STUDY" in words for _, words in commands):
        commands = [(name, list(words)) for name, *words in FIRST] + commands
    for name, words in commands:
        names = dict(zip(("STUDY", "STUDY2", "STUDY3"), studies, strict=False))
        given = [names.get(word, word) for word in in_few_trials(name, words)]
        done = run_here(tmp_path, name, *given)
        # A key may cost too much, which is an answer and not a mistake.
        right = (0, 1) if name == "check_key" else (0,)
        assert done.returncode in right, f"{name} {shlex.join(given)}\n{done.stdout}{done.stderr}"
        studies += re.findall(r"^study=(\S+)", done.stdout, re.MULTILINE)

"""The commands of README, Start and guides run in their order, as a reader pastes them.

With fewer trials than the pages have. What is left out has a reason.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_here import run_here

from engine.__main__ import COMMANDS
from triton_rvv.runtime.qemu import find_qemu

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
GUIDES = sorted(f"guides/{path.name}" for path in DOCS.glob("guides/*.md"))
PROGRAM = "guides/programs.md"
PAGES = ["../README.md", "start/ten_minutes.md", *GUIDES]
# Why a line does not run here, and where what it does is tested.
LEFT_OUT = {
    r"make tune|make test|pip install": "sets a machine up: tests/setup, tests/package",
    r"make demo": "takes minutes: test_demo.py",
    r"laptop|desk|jupiter|ssh:|BOARD|ssh-copy-id": "needs a board: tests/rvv_runner/ssh",
    r"tree\b|run_perf\.py": "needs a board: tests/rvv_runner/test_by_hand.py",
    r"cuda|hip|vllm": "needs a GPU: tests/gpu_runner",
    r"HOST:|ray start": "needs a cluster: test_cluster.py",
    r"a8w8_tuned|--gpu|cache\.json": "reads another program's table: test_tables.py",
    r"axpy\.py": "is for the reader's kernel: test_autotune_cache.py",
    r"--missing": "is for a program that noted a shape: test_missing_shapes.py",
    r"bench_language_model": "takes minutes: tests/kernels has the kernels",
    r"LLAMA_CPP": "needs a checkout of llama.cpp",
    r"optuna-dashboard": "serves until it is ended: test_dashboard.py",
}
SEARCHES = {"tune", "gemm", "tune_list"}
TRIALS = ["--trials", "3"]
REPLAYS = ["--trials", "12", "--seeds", "1"]
# Before pages about stored studies.
FIRST = [f"rvv-tune tune {what}" for what in ("vector_add", "vector_add --shape N=4096", "softmax")]


def module_and_words(line: str) -> tuple[str, list[str]] | None:
    """The module of `engine` that a line of a page runs, with its arguments."""
    words = shlex.split(line.replace(".venv/bin/", ""), comments=True)
    if words[:2] == ["python", "-m"] and words[2].startswith("engine."):
        return words[2].removeprefix("engine."), words[3:]
    if words[:1] == ["rvv-tune"] and COMMANDS[words[1]].module.startswith("engine."):
        return COMMANDS[words[1]].module.removeprefix("engine."), words[2:]
    return None


def blocks_of(page: str, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE
    )


def lines_of(page: str) -> list[str]:
    """The lines of a page's commands that run here."""
    lines = [line for block in blocks_of(page, "sh") for line in block.splitlines() if line]
    return [line for line in lines if not any(re.search(part, line) for part in LEFT_OUT)]


def test_every_command_runs_or_has_a_reason() -> None:
    others = {page for page in PAGES if any(map(is_for_a_shell, lines_of(page)))}
    assert others == SHELL.keys()
    written = "".join(block for page in PAGES for block in blocks_of(page, "sh"))
    assert [part for part in LEFT_OUT if not re.search(part, written)] == []


# Pages with lines for a shell, and what these print.
SHELL = {
    "guides/c_library.md": [
        "0 of 3300 wrong\n",
        "the library's code is for 256 bits",
        "status 1\n",
        "matmul fp32, ",
        "no error: 456\n",
    ],
    "guides/bench.md": [],
    "guides/experiments.md": ["3 studies, failed: 0\n", "3 studies in merged.journal\n"],
}


def is_for_a_shell(line: str) -> bool:
    return module_and_words(line) is None


def run_in_shell(lines: Sequence[str], folder: Path) -> str:
    """What lines print, one after another in one shell that ends at the first that fails."""
    text = "\n".join(lines).replace("python benchmarks", f"python {REPOSITORY}/benchmarks")
    qemu = find_qemu()
    assert qemu is not None
    version = subprocess.run([qemu, "--version"], capture_output=True, text=True, check=True)
    if "version 7." not in version.stdout:
        text = text.replace("Zfh=true", "zfh=true,zvfh=true")
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text.replace(".venv/bin/python", sys.executable)],
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(qemu).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, f"{text}\n{printed}"
    return printed


def test_a_line_that_fails_ends_the_others(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="first"):
        run_in_shell(["echo first", "false", "echo last"], tmp_path)


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


@pytest.mark.long
@pytest.mark.usefixtures("ray_for_tests")
@pytest.mark.parametrize("page", [page for page in PAGES if lines_of(page)])
def test_a_readers_path_runs(page: str, tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    shutil.copy(REPOSITORY / "studies" / "small_products.yaml", tmp_path / "studies")
    shown = r"^`([^`\n]+\.(?:py|yaml|c))`.*?:\n\n```\w+\n(.*?)^```"
    pages = (DOCS / page).read_text(), (DOCS / PROGRAM).read_text()  # its program is in three pages
    for name, text in re.findall(shown, "\n".join(pages), re.DOTALL | re.MULTILINE):
        if not (page.endswith("add_a_kernel.md") or name == "matvec.py"):
            (tmp_path / name).write_text(text)
    lines = [line.replace("/tmp/", f"{tmp_path}/") for line in lines_of(page)]
    if any("STUDY" in line for line in lines):
        lines = [*FIRST, *lines]
    studies: list[str] = []
    printed = ""
    for for_shell, group in itertools.groupby(lines, is_for_a_shell):
        if for_shell:
            printed += run_in_shell(list(group), tmp_path)
        else:
            for line in group:
                run_line(line, studies, tmp_path)
    assert [part for part in SHELL.get(page, []) if part not in printed] == [], printed


def run_line(line: str, studies: list[str], folder: Path) -> None:
    """Run a command of `engine`; what it tuned goes to the studies."""
    command = module_and_words(line)
    assert command is not None
    name, words = command
    names = dict(zip(("STUDY", "STUDY2", "STUDY3"), studies, strict=False))
    given = [names.get(word, word) for word in in_few_trials(name, words)]
    done = run_here(folder, name, *given)
    # A key may cost too much, which is an answer and not a mistake.
    right = (0, 1) if name == "check_key" else (0,)
    assert done.returncode in right, f"{name} {shlex.join(given)}\n{done.stdout}{done.stderr}"
    studies += re.findall(r"^study=(\S+)", done.stdout, re.MULTILINE)


@pytest.mark.long
@pytest.mark.usefixtures("ray_for_tests")
@pytest.mark.parametrize("page", ["../README.md", "start/ten_minutes.md"])
def test_python_of_the_first_pages_runs(page: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(page, "python")
    assert blocks
    for block in blocks:
        exec(block.replace("trials=20", "trials=3"), {})  # the page's own code

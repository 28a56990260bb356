"""What the documents say is still so: commands, names, files, quoted code and examples."""

from __future__ import annotations

import functools
import html
import importlib
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from documents import (
    DOCUMENTS,
    REPOSITORY,
    code_blocks,
    links,
    paths_named,
    prose,
    with_own_file,
)

import rvv_runner.__main__
from engine import new
from engine.__main__ import COMMANDS
from engine.arguments.configuration import complete_config
from engine.search.samplers.registry import SAMPLERS
from kernels.registry import is_kernel_file, kernel_names, load_kernel, make_problem
from rvv_runner.emulated.error_band import BANDS_FILE
from triton_rvv.lowering.control.function import HANDLERS
from triton_rvv.lowering.elementwise.unsupported import REASONS

RUN_TIMEOUT_S = 200
MOST_WORDS = 20_000
MOST_LINES_OF_README = 120
PACKAGES = (
    "engine",
    "foundation",
    "kernels",
    "launchers",
    "rvv_runner",
    "search_spaces",
    "triton_rvv",
)


def commands(document: Path) -> list[list[str]]:
    """The command lines of a document, without the path of the environment."""
    lines = [
        line
        for block in code_blocks(document)
        if block.language == "sh"
        for line in block.text.splitlines()
    ]
    return [shlex.split(line.replace(".venv/bin/", "")) for line in lines]


PYTHON_COMMANDS = [
    words
    for document in DOCUMENTS
    for words in commands(document)
    if words[:2] == ["python", "-m"] and words[2].startswith("engine.")
]


BOARD_COMMANDS = [
    words
    for document in DOCUMENTS
    for words in commands(document)
    if words[:3] == ["python", "-m", "rvv_runner"]
]


SUBCOMMANDS = [
    words for document in DOCUMENTS for words in commands(document) if words[0] == "rvv-tune"
]


def test_there_are_commands_to_check() -> None:
    assert len(PYTHON_COMMANDS) >= 7
    assert len(BOARD_COMMANDS) >= 1
    assert len(SUBCOMMANDS) >= 90
    assert sum(words[1] == "boards" for words in SUBCOMMANDS) >= 8


@pytest.mark.parametrize("words", BOARD_COMMANDS, ids=" ".join)
def test_a_command_about_boards_is_accepted(words: list[str]) -> None:
    assert rvv_runner.__main__._parse(words[3:]).command == words[3]


@pytest.mark.parametrize("words", SUBCOMMANDS, ids=" ".join)
def test_a_subcommand_is_accepted(words: list[str], tmp_path: Path) -> None:
    command = COMMANDS[words[1]]
    if words[1] == "tune":  # the reader's own program is not here either
        words = [word.replace("block.capture", "vector_add") for word in words]
    if words[1] == "boards":
        assert rvv_runner.__main__._parse(words[2:]).command == words[2]
    else:
        test_a_command_is_accepted(["python", "-m", command.module, *words[2:]], tmp_path)


@pytest.mark.parametrize("words", PYTHON_COMMANDS, ids=" ".join)
def test_a_command_is_accepted(words: list[str], tmp_path: Path) -> None:
    module = importlib.import_module(words[2])
    words = [with_own_file(word, tmp_path) for word in words]
    if "axpy" in words:
        # The page's own kernel; the example's test runs it.
        words = [word.replace("axpy", "vector_add") for word in words]
    # The user's own boards; `test_devices.py` has one.
    own_board = r"\b(emulated:)?(laptop|desk|shelf)(-measured|-checked)?\b"
    words = [re.sub(own_board, "emulated", word) for word in words]
    arguments = module._parse(words[3:])
    kernel = getattr(arguments, "kernel", None)
    if kernel is None or is_kernel_file(kernel):
        return  # the reader's own file holds nothing here
    shapes = arguments.shape if isinstance(arguments.shape, list) else [arguments.shape]
    for shape in shapes or [{}]:
        problem = make_problem(load_kernel(arguments.kernel), shape, arguments.dtype)
        config = getattr(arguments, "config", {})
        complete_config(config, problem.default_config, problem.spec.name)


def test_make_knows_the_targets() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    known = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split()
    for document in DOCUMENTS:
        targets = {words[1] for words in commands(document) if words[0] == "make"}
        targets |= set(re.findall(r"`make (\w+)", document.read_text()))
        assert targets <= set(known), document


def test_links_and_files_exist() -> None:
    missing = [
        (document.name, link)
        for document in DOCUMENTS
        for link in links(document)
        if not (document.parent / link).exists()
    ]
    for document in DOCUMENTS:
        shown = {block.file for block in code_blocks(document)}
        named = [path for path in paths_named(document) if path not in shown]
        missing += [(document.name, path) for path in named if not exists(path)]
    assert missing == []


def exists(path: str) -> bool:
    """Whether the repository has a file or folder of this path, or anywhere one of this name."""
    if "/" in path or (REPOSITORY / path).exists():
        return (REPOSITORY / path).exists()
    return path in names_in_packages()


@functools.cache
def names_in_packages() -> frozenset[str]:
    return frozenset(p.name for folder in PACKAGES for p in (REPOSITORY / folder).rglob("*"))


def test_the_index_lists_every_page() -> None:
    docs = REPOSITORY / "docs"
    listed = {link for link in links(docs / "README.md") if not link.startswith("..")}
    pages = {path.relative_to(docs).as_posix() for path in docs.glob("**/*.md")}
    assert listed == pages - {"README.md"}


# Turns of phrase that readers stumbled over, and matrix products, which the field calls GEMMs.
STUMBLING = re.compile(
    r"\b(of which|says? so|nobody|anybody|so many|whoever|quickest|matrix products?)\b",
    re.IGNORECASE,
)


def test_pages_for_users_read_plainly() -> None:
    for document in DOCUMENTS:
        is_for_users = document.parent == REPOSITORY or document.parent.name in ("start", "guides")
        if is_for_users and document.name not in ("CHANGELOG.md", "CONTRIBUTING.md"):
            assert STUMBLING.findall(document.read_text()) == [], document


def test_pages_that_are_read_through_stay_short() -> None:
    """Notes and reference are looked up; the index is links. Code is not counted."""
    looked_up = (REPOSITORY / "docs/notes", REPOSITORY / "docs/reference")
    pages = [
        page
        for page in DOCUMENTS
        if page.is_relative_to(REPOSITORY / "docs")
        and page.parent not in looked_up
        and page.name != "README.md"
    ]
    assert sum(len(prose(page).split()) for page in pages) <= MOST_WORDS
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= MOST_LINES_OF_README


def test_quoted_code_stands_in_the_file_named_before_it() -> None:
    quoted = [
        block
        for block in code_blocks(REPOSITORY / "CONTRIBUTING.md")
        if block.language in ("python", "toml")
    ]
    assert len(quoted) >= 3
    sources = [
        (REPOSITORY / name).read_text()
        for name in (
            "engine/search/samplers/random.py",
            "engine/search/samplers/registry.py",
            "rvv_runner/boards/x60.toml",
        )
    ]
    for block in quoted:
        assert any(block.text in source for source in sources), block.text


def test_the_page_of_options_names_every_kernel_and_sampler() -> None:
    page = (REPOSITORY / "docs/reference/options.md").read_text()
    rows = dict(re.findall(r"^\| (\S+) \| (.*) \|$", page, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", rows["kernel"])) == set(kernel_names())
    assert set(re.findall(r"`(\w+)`", rows["`--sampler`"])) == set(SAMPLERS)


def test_the_readme_has_the_speed_of_the_time_in_its_picture() -> None:
    readme = (REPOSITORY / "README.md").read_text()
    drawn = re.sub(r"<[^>]+>", " ", (REPOSITORY / "docs/pictures/tune.svg").read_text())
    drawn = html.unescape(drawn).replace("\xa0", " ")
    times_ms = [
        float(re.search(rf"\s{row} +\w*M=\d+ .*?([\d.]+) ms", drawn)[1]) for row in ("1", "default")
    ]
    shown = [float(figure) for figure in re.findall(r"([\d.]+) GFLOP/s", readme)]
    for time_ms in times_ms:
        assert round(2 * 256 * 512 * 256 / time_ms / 1e6, 1) in shown


@pytest.mark.parametrize("page", ["README.md", "docs/concepts/emulated_board.md"])
def test_shares_of_the_emulated_board_are_those_of_its_note(page: str) -> None:
    note = (REPOSITORY / "docs/notes/emulated_board_accuracy.md").read_text()
    text = (REPOSITORY / page).read_text()
    for row in ("all routines", "all GEMM kernels"):
        points, share = re.search(rf"^\| {row} \| [^|]+ \| (\d+) \| (\d+%)", note, re.M).groups()
        assert f"{share} of {int(points):,}" in text
    held_out = ["ascii_to_utf16", "LUT6", "chacha20", "base64_encode", "trans8x8e8"]
    rows = [re.search(rf"^\| {row} \| no \| (\d+) \| (\d+)%", note, re.M) for row in held_out]
    near = sum(round(int(row[1]) * int(row[2]) / 100) for row in rows)
    assert f"{near} of {sum(int(row[1]) for row in rows)}" in text


def test_the_error_bands_are_those_that_are_printed_and_of_held_out_points() -> None:
    page = (REPOSITORY / "docs/concepts/emulated_board.md").read_text()
    bands = tomllib.loads(BANDS_FILE.read_text())["x60"]
    assert sum(band["held_out"] for band in bands.values()) == 94
    for kind, band in bands.items():
        row = re.search(rf"^\| {kind} \|.*", page, re.M)[0]
        error, tied = (f"{band[name]:.0%}" for name in ("error", "tied"))
        assert row.endswith(f"| {band['held_out']} | ±{error} | {band['points']} | {tied} |")


def test_the_table_of_operations_is_the_compilers() -> None:
    table = "\n".join(
        line
        for line in (REPOSITORY / "docs/reference/compiler.md").read_text().splitlines()
        if line.startswith("| ") and "`tl." not in line
    )
    assert sorted(re.findall(r"`([a-z_]+\.[\w.]+)`", table)) == sorted(HANDLERS)


def test_the_table_of_refusals_is_the_compilers() -> None:
    text = (REPOSITORY / "docs/reference/compiler.md").read_text()
    rows = re.findall(r"^\| `(\w+\.\w+)` \| `(tl\.\w+)` \| (.+) \|$", text, re.MULTILINE)
    table = {operation: (name, advice.replace("`", "")) for operation, name, advice in rows}
    assert table == REASONS


# `engine.measure` without Ray, whose processes take twice as long to start as this takes.
MEASURE = """
import sys
import tomllib
from pathlib import Path
from engine import measure
from engine.arguments.configuration import complete_config
from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board

arguments = measure._parse(sys.argv[1:])
problem = make_problem(load_kernel(arguments.kernel), arguments.shape, arguments.dtype)
board = load_board(arguments.device)
space = problem.space(board.info)
config = complete_config(arguments.config, space.default, problem.spec.name, space.parameters)
request = BuildRequest(
    problem.spec.load_name, problem.shape, problem.dtype, board.info.target, ArtifactStore(Path())
)
board.open()
print(board.measure(KernelBuilder(request).build(config), 1, 200.0).status)
board.close()
"""


def test_the_example_of_a_kernel_runs(tmp_path: Path) -> None:
    page = REPOSITORY / "docs/contributing/add_a_kernel.md"
    for package in PACKAGES:
        # With bytecode, which fits its source there too, but not what is being written.
        ignored = shutil.ignore_patterns("*.pyc.*")
        shutil.copytree(REPOSITORY / package, tmp_path / package, ignore=ignored)
    files = [block for block in code_blocks(page) if block.file]
    files = [block for block in files if "/" in str(block.file)]
    assert len(files) == 2
    for block in files:
        (tmp_path / str(block.file)).write_text(block.text)
    measure = next(words for words in commands(page) if "engine.measure" in words)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *measure[3:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    assert done.stdout == "correct\n", done.stderr


def test_the_page_shows_what_new_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new.main(["matvec"])
    blocks = code_blocks(REPOSITORY / "docs/guides/add_a_kernel.md")
    (shown,) = [block.text for block in blocks if block.file == "matvec.py"]
    assert shown == Path("matvec.py").read_text()


def test_python_in_documents_compiles() -> None:
    for document in DOCUMENTS:
        for block in code_blocks(document):
            if block.language == "python" and not block.text.startswith(" "):
                compile(block.text, str(document), "exec")

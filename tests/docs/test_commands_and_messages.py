"""The pages of commands and of messages name what the code has."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import get_args

from documents import REPOSITORY

from engine.__main__ import COMMANDS
from rvv_runner.measurement import Status

_MESSAGES = (REPOSITORY / "docs" / "reference" / "messages.md").read_text()
_ROWS = re.findall(r"^\| `([^`]+)` \|", _MESSAGES, re.MULTILINE)
_SENTENCES = [row for row in _ROWS if row not in get_args(Status)]
_SOURCES = (
    "foundation",
    "triton_rvv",
    "launchers",
    "rvv_runner",
    "gpu_runner",
    "kernels",
    "engine",
)


@cache
def _lines() -> frozenset[str]:
    """Of each text of the code, with … for what is put in."""
    texts = {(REPOSITORY / "setup.sh").read_text()}
    for folder in _SOURCES:
        for file in (REPOSITORY / folder).rglob("*.py"):
            texts |= {_spelt(node) for node in ast.walk(ast.parse(file.read_text()))}
    return frozenset(line for text in texts for line in text.splitlines() if " " in line)


def _spelt(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"{\w*}", "…", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_spelt(part) or "…" for part in node.values)
    return ""


def test_the_page_of_commands_has_each_command_and_no_other() -> None:
    page = (REPOSITORY / "docs" / "reference" / "commands.md").read_text()
    named = re.findall(r"^\| `([a-z-]+)( [a-z]+)?` \| `([\w.]+)", page, re.MULTILINE)
    assert {name for name, _, _ in named} == set(COMMANDS)
    for name, _, module in named:
        assert COMMANDS[name].module.removesuffix(".__main__") == module, name


def test_the_page_of_messages_has_each_status() -> None:
    assert set(get_args(Status)) - {"correct"} == set(_ROWS) - set(_SENTENCES)


def test_messages_are_those_that_the_code_gives() -> None:
    for sentence in _SENTENCES:
        pieces = sentence.split("…")
        pattern = re.compile(".*".join(map(re.escape, pieces)))
        longest = max(pieces, key=len)
        assert any(pattern.search(line) for line in _lines() if longest in line), sentence


def test_there_are_messages_to_check() -> None:
    assert len(_SENTENCES) > 30

"""Commands on the page about coverage are accepted, and the tests that it names are there."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import pytest
from documents import REPOSITORY, with_own_file

PAGE = (REPOSITORY / "docs/notes/coverage.md").read_text()
SPANS = [shlex.split(span) for span in re.findall(r"`([^`]+)`", PAGE) if " " in span]
COMMANDS = [words for words in SPANS if words[:2] == ["python", "-m"]]
TESTS = [words for words in SPANS if words[0] == "pytest"]


def test_there_is_something_to_check() -> None:
    assert len(COMMANDS) > 10
    assert len(TESTS) > 10


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_is_accepted(words: list[str], tmp_path: Path) -> None:
    if words[2:] == ["pytest"]:
        return
    importlib.import_module(words[2])._parse([with_own_file(word, tmp_path) for word in words[3:]])


def test_named_tests_are_there() -> None:
    for words in TESTS:
        paths = [word for word in words[1:] if word.startswith("tests/")]
        assert paths, words
        text = "".join((REPOSITORY / path).read_text() for path in paths)
        names = "\n".join(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
        wanted = words[words.index("-k") + 1].split(" or ") if "-k" in words else ["test_"]
        for name in wanted:
            assert name in names, words

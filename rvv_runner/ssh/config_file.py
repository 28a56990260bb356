"""Reads ~/.ssh/config with the files that it includes, which paramiko leaves out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import paramiko

from foundation.user_folders import home

__all__ = ["read_config"]

_MOST_LEVELS = 16  # as in OpenSSH's readconf.c, in case files include each other
_SETTING = re.compile(r"\s*(\w+)(?:\s*=\s*|\s+)(.+)")
_EVERY_HOST = "Host *"


def read_config(path: Path) -> paramiko.SSHConfig:
    """The settings in the file and in those that it includes; none if there is no such file.

    A Host or Match of an included file counts wherever its Include stands. In ssh_config(5), one
    below a Host counts for that Host alone.

    Raises:
        OSError: if a file cannot be read.
        ValueError, paramiko.ConfigParseError: if its text is not as in ssh_config(5).
    """
    text = "\n".join(_lines(path, _EVERY_HOST, _MOST_LEVELS)) if path.exists() else ""
    return paramiko.SSHConfig.from_text(text)


def _lines(path: Path, block: str, levels_left: int) -> Iterator[str]:
    """The file's lines, each Include replaced by the lines of its files.

    After an Include, the settings belong to the same Host or Match as before it.
    """
    for line in path.read_text(encoding="utf-8").splitlines():
        found = _SETTING.match(line)
        key = found[1].lower() if found else ""
        if found is None or key != "include":
            block = line if key in ("host", "match") else block
            yield line
        elif levels_left:
            for included in _included(found[2]):
                yield from _lines(included, block, levels_left - 1)
            yield block


def _included(patterns: str) -> Iterator[Path]:
    """The files that match the patterns of an Include, which are relative to ~/.ssh."""
    for pattern in shlex.split(patterns, comments=True):
        below = re.sub("^~(?=/)", str(home()), pattern)
        folder = Path("/") if below.startswith("/") else home() / ".ssh"
        yield from sorted(folder.glob(below.lstrip("/")))

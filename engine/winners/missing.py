"""The list of shapes that ran untuned: kernels add to it, and `engine.tune --missing` tunes it."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from foundation.document import Entry, read_list
from foundation.errors import CommandError
from foundation.printing import say
from foundation.shapes import shape_text

__all__ = ["MISSING_FILE", "Missing", "note_missing", "read_missing", "tune_missing"]

# Under the current folder, beside the studies.
MISSING_FILE = Path("studies", "missing.yaml")

_KEYS = ("kernel", "shape", "dtype", "device")


@dataclass(frozen=True)
class Missing:
    """A problem for which no winner is stored.

    Args:
        kernel: a registered name or the path of a Python file.
        shape: sizes by name.
        dtype: element type, by Triton's name.
        device: name of the device that it ran on.
    """

    kernel: str
    shape: tuple[tuple[str, int], ...]
    dtype: str
    device: str

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.kernel} {shape_text(dict(self.shape))} {self.dtype} on {self.device}"

    def line(self) -> str:
        """Its line in the file: a YAML list with one entry per line, each also valid JSON."""
        entry = {
            "kernel": self.kernel,
            "shape": dict(self.shape),
            "dtype": self.dtype,
            "device": self.device,
        }
        return f"- {json.dumps(entry)}\n"


def note_missing(entry: Missing, path: Path = MISSING_FILE) -> bool:
    """Add an entry to the list, unless it is there; return whether it was added.

    Raises:
        UserError: if the file is not such a list.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        if entry in read_missing(path):
            return False
        with path.open("a", encoding="utf-8") as file:
            file.write(entry.line())
    return True


def tune_missing(tune: Callable[[Missing], bool | None], path: Path = MISSING_FILE) -> bool:
    """Tune each entry and remove those with a winner from the list.

    A mistake in an entry, such as a missing kernel file, or a board that cannot be used is printed
    on stderr; the entry stays.

    Args:
        tune: tunes one entry; returns whether there is a winner now, None if the user stopped it.
        path: of the list.

    Returns:
        Whether the list is empty now.

    Raises:
        UserError: if the file is not such a list.
    """
    for entry in read_missing(path):
        say(f"missing: {entry}", file=sys.stderr, flush=True)
        try:
            is_found = tune(entry)
        except CommandError as error:  # the other entries may do better
            say(f"left on the list: {error}", file=sys.stderr, flush=True)
            continue
        if is_found is None:
            break
        if is_found:
            _remove(entry, path)
    return not read_missing(path)


def _remove(entry: Missing, path: Path) -> None:
    with _locked(path):
        left = [other for other in read_missing(path) if other != entry]
        _replace(path, "".join(other.line() for other in left))


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically: if the process is killed, the old file stays whole."""
    new = path.with_name(f"{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def read_missing(path: Path = MISSING_FILE) -> list[Missing]:
    """The entries of the list; none if there is no file.

    Raises:
        UserError: if the file is not such a list, with the line.
    """
    if not path.exists() or path.stat().st_size == 0:
        return []
    return [_missing(entry.only(_KEYS)) for entry in read_list(path, "missing problem")]


def _missing(entry: Entry) -> Missing:
    shape = entry.entry("shape", "shape")
    return Missing(
        kernel=entry.text("kernel"),
        shape=tuple((name, shape.whole(name)) for name in shape.keys),
        dtype=entry.text("dtype"),
        device=entry.text("device"),
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock the list against other processes; the lock is on its folder, so it needs no file."""
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

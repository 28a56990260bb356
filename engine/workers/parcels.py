"""Files that travel between the machines of a cluster, each known by its path and its hash.

A file has the same path on every machine, below the tuner's current folder; it is sent only to
where it is not yet. So nothing changes for machines that share a file system.
"""

from __future__ import annotations

import dataclasses
import hashlib
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from foundation.errors import UserError
from foundation.scratch import UNFINISHED, scratch_folder
from kernels.captured.task_file import CAPTURE_HEAD

__all__ = [
    "Parcel",
    "TravellingFile",
    "files_of",
    "missing",
    "packed",
    "place_sources",
    "sources",
    "unpack",
]


@dataclasses.dataclass(frozen=True)
class TravellingFile:
    """A file of the machine that it comes from.

    Args:
        path: absolute.
        sha256: of its contents.
        is_executable: whether its owner may run it.
    """

    path: Path
    sha256: str
    is_executable: bool


@dataclasses.dataclass(frozen=True)
class Parcel:
    """A file with its contents."""

    file: TravellingFile
    contents: bytes


def files_of(artifact: object) -> tuple[TravellingFile, ...]:
    """The files that an artifact names, and what else was built with them; runs where they are."""
    paths: dict[Path, None] = {}
    for path in _paths(artifact):
        built_with = path.parent.glob(f"{path.stem}.*") if path.is_file() else ()
        paths |= dict.fromkeys(one.absolute() for one in built_with)
    return tuple(_described(path) for path in sorted(paths))


def missing(files: Iterable[TravellingFile]) -> tuple[TravellingFile, ...]:
    """Those that this machine does not have."""
    return tuple(file for file in files if not file.path.is_file() or _described(file.path) != file)


def packed(files: Iterable[TravellingFile]) -> tuple[Parcel, ...]:
    """The files with their contents; runs where they are."""
    return tuple(Parcel(file, file.path.read_bytes()) for file in files)


def unpack(parcels: Sequence[Parcel], below: Path) -> None:
    """Write the files to where they belong, each as a whole.

    Args:
        parcels: what to write.
        below: the folder outside of which nothing is written.

    Raises:
        OSError: if a file cannot be written, does not have its hash, or belongs elsewhere.
    """
    below.mkdir(parents=True, exist_ok=True)
    for parcel in parcels:
        path = parcel.file.path
        if not path.resolve().is_relative_to(below.resolve()):
            raise OSError(f"{path} is not in {below}")
        if hashlib.sha256(parcel.contents).hexdigest() != parcel.file.sha256:
            raise OSError(f"{path} was changed on its way here")
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(UNFINISHED, below) as scratch:
            written = scratch / path.name
            written.write_bytes(parcel.contents)
            written.chmod(0o755 if parcel.file.is_executable else 0o644)
            written.replace(path)


def sources(paths: Iterable[Path]) -> tuple[Parcel, ...]:
    """Files that a user has written, as other machines need them."""
    return packed(_described(path.absolute()) for path in paths)


def place_sources(parcels: Sequence[Parcel]) -> None:
    """Write the user's files to their paths on a machine that has none there.

    A capture grows while it is tuned, by winners, which no worker reads: a longer or a shorter one
    is the same file.

    Raises:
        UserError: if another file is there, or it cannot be written.
    """
    for parcel in parcels:
        path = parcel.file.path
        held = path.read_bytes() if path.exists() else None
        if held is not None and _has_grown(parcel.contents, held):
            continue
        if held is not None and not _has_grown(held, parcel.contents):
            raise UserError(
                f"{path} is another file on {socket.gethostname()}, which works for you: "
                "remove it there"
            )
        try:
            unpack([parcel], path.parent)
        except OSError as error:
            raise UserError(f"{socket.gethostname()} cannot keep your {path}: {error}") from error


def _has_grown(before: bytes, after: bytes) -> bool:
    """Whether contents are those before, or those of a capture that winners were added to."""
    return before == after or (before.startswith(CAPTURE_HEAD) and after.startswith(before))


def _described(path: Path) -> TravellingFile:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return TravellingFile(path, digest, bool(path.stat().st_mode & 0o100))


def _paths(value: object) -> Iterator[Path]:
    """Every path in a dataclass, and in mappings and dataclasses in it."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _paths(part)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _paths(getattr(value, field.name))

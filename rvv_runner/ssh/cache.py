"""The files on a board: shipped once, found again by their contents, evicted beyond a limit."""

from __future__ import annotations

import hashlib
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rvv_runner.ssh.errors import RemoteFileError
from rvv_runner.ssh.session import RemoteFile, Session

__all__ = [
    "CANNOT_RUN",
    "MAKE_ROOM",
    "NO_PROGRAM_RUNS",
    "CannotShip",
    "RemoteCache",
    "RemotePlace",
    "free_disk_bytes",
]

_EXECUTABLE = 0o700
_PART = ".part-"
_STALE_AFTER_MINUTES = 180


# What a shell and timeout(1) give for a program that is there and may not be run.
CANNOT_RUN = 126

NO_PROGRAM_RUNS = (
    "the board runs no program that lies in the tuner's folder, as where it is mounted noexec: "
    "name another as `folder` in its board file"
)


MAKE_ROOM = "delete something there, or name another as `folder` in its board file"


class CannotShip(Exception):
    """A file could not be brought to the board; the message is one sentence."""


@dataclass(frozen=True)
class RemotePlace:
    """The project's folder on the board.

    Args:
        folder: its path, relative to the user's home if it is not absolute.
    """

    folder: str

    @property
    def files(self) -> str:
        """Where executables and data are."""
        return f"{self.folder}/files"

    @property
    def jobs(self) -> str:
        """Where jobs leave their reports."""
        return f"{self.folder}/jobs"


class RemoteCache:
    """Files on one board, each named by the SHA-256 of its contents.

    Other programs may use the same folder at the same time. If they evict a file, it is shipped
    again after a job has found it missing.

    Args:
        place: where the files are.
        limit_bytes: their maximum total size; the least recently used are evicted first.
    """

    def __init__(self, place: RemotePlace, limit_bytes: int) -> None:
        self._place = place
        self._limit_bytes = limit_bytes
        self._digests: dict[tuple[Path, int, int], str] = {}
        self.forget()

    def forget(self) -> None:
        """Check that each file is on the board before its next use."""
        self._seen: set[str] = set()
        self._seen_by: Session | None = None
        self._held_bytes: int | None = None  # None until the board was asked

    def prepare(self, session: Session) -> None:
        """Make the folders, and remove the remains of interrupted uploads.

        Raises:
            CannotShip: if this user may not make them, or there is no room.
        """
        folders = shlex.join([self._place.files, self._place.jobs])
        made = session.run(f"mkdir -p -m 700 -- {folders}")
        if made.status != 0:
            raise CannotShip(
                f"the folder {self._place.folder} cannot be made on it: {made.last_line}"
            )
        # By the board's own clock. Files in use are younger, since every job has a time limit.
        stale = f"-mindepth 1 -maxdepth 1 -mmin +{_STALE_AFTER_MINUTES} -exec rm -rf -- {{}} +"
        session.run(
            f"find {shlex.quote(self._place.files)} -name '*{_PART}*' {stale}; "
            f"find {shlex.quote(self._place.jobs)} {stale}"
        )

    def ship(self, session: Session, *paths: Path) -> list[str]:
        """The files' names on the board, in the folder of files; they are complete and executable.

        Raises:
            CannotShip: if the board has no room for a file or does not accept it.
        """
        if self._seen_by is not session:
            self.forget()
            self._seen_by = session
        digests = [self._digest(path) for path in paths]
        for path, digest in zip(paths, digests, strict=True):
            if digest not in self._seen:
                self._ship(session, path, digest, keep=digests)
        return digests

    def _ship(self, session: Session, path: Path, digest: str, keep: Sequence[str]) -> None:
        remote = f"{self._place.files}/{digest}"
        size_bytes = path.stat().st_size
        if not self._is_there(session, remote, digest, size_bytes):
            self._make_room(session, size_bytes, keep)
            try:
                self._upload(session, path, remote, digest)
            except RemoteFileError as error:
                why = f"a file could not be written to {self._place.folder} on it: {error}"
                raise CannotShip(self.full_disk(session, size_bytes) or why) from error
        self._seen.add(digest)

    def _is_there(self, session: Session, remote: str, digest: str, size_bytes: int) -> bool:
        """Whether the board has the whole file; it then counts as used now."""
        found = session.find(remote)
        if found is None or found.size_bytes != size_bytes:
            return False
        name = shlex.quote(remote)
        return session.run(f"{_has_digest(name, digest)} && touch -c -- {name}").status == 0

    def _upload(self, session: Session, path: Path, remote: str, digest: str) -> None:
        part = f"{remote}{_PART}{secrets.token_hex(4)}"
        old, new = shlex.quote(part), shlex.quote(remote)
        try:
            with path.open("rb") as source:
                session.write(source, part)
            placed = session.run(
                f"{_has_digest(old, digest)} && "
                f"chmod {_EXECUTABLE:o} -- {old} && mv -f -- {old} {new}"
            )
            if placed.status != 0:
                raise RemoteFileError(f"it arrived with other contents ({placed.last_line})")
        except RemoteFileError:
            session.remove(part)
            raise

    def _make_room(self, session: Session, size_bytes: int, keep: Sequence[str]) -> None:
        """If a new file would exceed the limit, remove the least recently used ones."""
        if self._held_bytes is not None and self._held_bytes + size_bytes <= self._limit_bytes:
            self._held_bytes += size_bytes
            return
        files = sorted(session.listing(self._place.files), key=_last_use)
        self._held_bytes = sum(file.size_bytes for file in files) + size_bytes
        for file in files:
            if self._held_bytes <= self._limit_bytes:
                return
            if file.name not in keep and _PART not in file.name:
                session.remove(f"{self._place.files}/{file.name}")
                self._seen.discard(file.name)
                self._held_bytes -= file.size_bytes

    def full_disk(self, session: Session, needed_bytes: int) -> str:
        """One sentence if the board's disk has less room than needed, or ""."""
        free_bytes = free_disk_bytes(session, self._place.files)
        if free_bytes is None or free_bytes >= needed_bytes:
            return ""
        return (
            f"its disk is full ({free_bytes >> 10} KiB free, {needed_bytes >> 10} KiB needed): "
            f"{MAKE_ROOM}"
        )

    def _digest(self, path: Path) -> str:
        state = path.stat()
        key = (path, state.st_mtime_ns, state.st_size)
        if key not in self._digests:
            with path.open("rb") as file:
                self._digests[key] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._digests[key]


def _has_digest(path: str, digest: str) -> str:
    """A shell command that succeeds if the file has these contents."""
    return f'[ "$(sha256sum <{path})" = "{digest}  -" ]'


def free_disk_bytes(session: Session, folder: str) -> int | None:
    """Free space on the folder's disk, or None if df does not show it."""
    found = session.run(f"df -Pk -- {shlex.quote(folder)}")
    fields = (found.output.splitlines() or [""])[-1].split()
    return int(fields[3]) << 10 if len(fields) >= 6 and fields[3].isdigit() else None


def _last_use(file: RemoteFile) -> float:
    return file.modified_s

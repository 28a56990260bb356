"""One login on a board: commands and files, with a time limit on each of the board's answers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import paramiko

from rvv_runner.ssh.connect import CONNECT_LIMIT_S, log_in
from rvv_runner.ssh.errors import LinkLost, RemoteFileError
from rvv_runner.ssh.route import Hop
from rvv_runner.ssh.shell import CommandResult, Shell

__all__ = ["RemoteFile", "Session"]

# How long the board may take to answer a small request.
ANSWER_LIMIT_S = 7.0

_CHUNK_BYTES = 1 << 18

# What paramiko says of a channel that ended, perhaps before it knows that the connection has.
_HUNG_UP = "Socket is closed"

_NO_SFTP = (
    "its SSH server offers no SFTP: write `Subsystem sftp internal-sftp` into "
    "/etc/ssh/sshd_config there, and start it again"
)


@dataclass(frozen=True)
class RemoteFile:
    """A file on the board.

    Args:
        name: its path, or its name in a listing.
        size_bytes: its size.
        modified_s: time of its last change, in seconds since 1970 by the board's clock.
    """

    name: str
    size_bytes: int
    modified_s: float


class Session:
    """One login on a board, for one thread.

    Every method raises LinkLost if the board does not answer in time or the connection ends; then
    the session cannot be used again. Relative paths start at the user's home.

    Args:
        route: the machines to log in to, the board last.
        limit_s: like `log_in`.

    Raises:
        NotAnswering, BoardError: like `log_in`.
    """

    def __init__(self, route: Sequence[Hop], limit_s: float = CONNECT_LIMIT_S) -> None:
        self._clients = log_in(route, limit_s)
        self._shell: Shell | None = None
        self._sftp: paramiko.SFTPClient | None = None

    def close(self) -> None:
        """End the connection; processes on the board continue to run."""
        for client in reversed(self._clients):
            client.close()

    def start(self, command: str, afterwards: str = "true") -> None:
        """Start a POSIX shell command without input; `afterwards` runs next, without a wait."""
        with self._answering():
            if self._shell is None or self._shell.is_busy:
                # A second shell, for example to kill the command that the first waits for.
                self._shell = Shell(self._transport().open_session(timeout=ANSWER_LIMIT_S))
            self._shell.start(command, afterwards)

    def wait(
        self, timeout_s: float, heard: Callable[[str], None] | None = None
    ) -> CommandResult | None:
        """How the last started command ended, or None if it still runs after `timeout_s`; `heard`
        gets the first of what it prints, as soon as it comes."""
        assert self._shell is not None
        with self._answering(timeout_s + ANSWER_LIMIT_S):
            return self._shell.wait(timeout_s, heard)

    def run(self, command: str, timeout_s: float = ANSWER_LIMIT_S) -> CommandResult:
        """Run a POSIX shell command to its end, without input.

        If it takes longer than `timeout_s`, it continues to run and the link counts as lost.
        """
        self.start(command)
        result = self.wait(timeout_s)
        if result is None:
            raise LinkLost(f"a command did not end within {timeout_s:g} s")
        return result

    def find(self, path: str) -> RemoteFile | None:
        """The file at `path`, or None if there is none."""
        with self._answering():
            try:
                return _remote_file(path, self._files().stat(path))
            except FileNotFoundError:
                return None

    def listing(self, folder: str) -> list[RemoteFile]:
        """The files in `folder`."""
        with self._answering(4 * ANSWER_LIMIT_S):
            entries = self._files().listdir_attr(folder)
        return [_remote_file(entry.filename, entry) for entry in entries]

    def read(self, path: str, limit_bytes: int) -> bytes:
        """The contents of the file, up to a limit."""
        with self._answering(4 * ANSWER_LIMIT_S), self._files().open(path, "rb") as file:
            contents: bytes = file.read(limit_bytes)
            return contents

    def write(self, source: BinaryIO, path: str) -> None:
        """Write a file; the board must accept each part within the limit.

        Raises:
            RemoteFileError: if the board has no room, or does not let this user write.
        """
        with self._answering():
            file = self._files().open(path, "wb")
            file.set_pipelined(True)
        while chunk := source.read(_CHUNK_BYTES):
            with self._answering():
                file.write(chunk)
        with self._answering():
            file.close()

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        with self._answering(), contextlib.suppress(FileNotFoundError):
            self._files().remove(path)

    def _transport(self) -> paramiko.Transport:
        transport = self._clients[-1].get_transport()
        if transport is None:
            raise EOFError("the session is closed")
        return transport

    def _files(self) -> paramiko.SFTPClient:
        if self._sftp is None:
            transport = self._transport()
            try:
                self._sftp = transport.open_sftp_client()
            except (paramiko.SSHException, EOFError) as error:
                if not transport.is_active():
                    raise
                raise RemoteFileError(_NO_SFTP) from error
        return self._sftp

    @contextlib.contextmanager
    def _answering(self, limit_s: float = ANSWER_LIMIT_S) -> Iterator[None]:
        """Cut the connection if the block takes longer: much of paramiko waits forever."""
        watchdog = threading.Timer(limit_s, self._cut)
        watchdog.daemon = True
        watchdog.start()
        try:
            yield
        except (paramiko.SSHException, EOFError, TimeoutError) as error:
            raise LinkLost(f"the connection was lost ({_text(error)})") from error
        except OSError as error:
            if _HUNG_UP in str(error) or not self._is_up():
                raise LinkLost(f"the connection was lost ({_text(error)})") from error
            raise RemoteFileError(_text(error)) from error
        finally:
            watchdog.cancel()

    def _is_up(self) -> bool:
        transport = self._clients[-1].get_transport()
        return transport is not None and transport.is_active()

    def _cut(self) -> None:
        # The socket first: otherwise a transport that is stuck in a write would not end.
        for client in self._clients:
            transport = client.get_transport()
            if transport is not None:
                with contextlib.suppress(OSError, EOFError):
                    transport.sock.close()
        self.close()


def _remote_file(name: str, attributes: paramiko.SFTPAttributes) -> RemoteFile:
    return RemoteFile(name, attributes.st_size or 0, attributes.st_mtime or 0)


def _text(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")

"""A shell on a board that runs one command after another, so that logging in is paid for once."""

from __future__ import annotations

import secrets
import time

import paramiko

from rvv_runner.ssh.errors import LinkLost

__all__ = ["CommandResult", "Shell"]

_OUTPUT_LIMIT_BYTES = 4 << 20


class CommandResult:
    """How a command on the board ended.

    Args:
        status: its exit status.
        output: what it printed, to either output.
    """

    def __init__(self, status: int, output: str) -> None:
        self.status = status
        self.output = output

    @property
    def last_line(self) -> str:
        """Of the output, where the message of a failed command stands."""
        return (self.output.strip().splitlines() or [f"status {self.status}"])[-1]


class Shell:
    """A POSIX shell that waits for commands on a channel.

    The user's own shell, whichever it is, reads its start-up files and starts this one; a bash does
    the first for every command that sshd is asked for, which can take longer than a measurement.

    Args:
        channel: a session on which nothing has been asked for yet.

    Attributes:
        is_busy: whether a command was started whose end has not been seen.
    """

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self._token = ""
        self._received = bytearray()
        self.is_busy = False
        channel.set_combine_stderr(True)
        channel.exec_command("sh")

    def start(self, command: str, afterwards: str = "true") -> None:
        """Have a command of the shell's language run, with no input, in a shell of its own.

        Args:
            command: what is waited for.
            afterwards: what is to be done next, when nobody waits any more.
        """
        self._token = secrets.token_hex(8)
        self._received.clear()
        self.is_busy = True
        line = f"(\n{command}\n) </dev/null 2>&1; printf '\\n%s %s\\n' {self._token} $?\n"
        line += f"{afterwards}\n"
        self._channel.sendall(line.encode())

    def wait(self, timeout_s: float) -> CommandResult | None:
        """How the command ended, or None if it has not within `timeout_s`.

        Raises:
            LinkLost: if the connection, or the shell, ended before the command.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            result = self._result()
            if result is not None:
                self.is_busy = False
                return result
            self._channel.settimeout(max(deadline - time.monotonic(), 0))
            try:
                data = self._channel.recv(1 << 16)
            except TimeoutError:
                return None
            if not data:
                raise LinkLost("the connection was lost (the shell on the board ended)")
            self._received += data
            if len(self._received) > _OUTPUT_LIMIT_BYTES:
                raise LinkLost("the connection was given up (a command printed without end)")

    def _result(self) -> CommandResult | None:
        output, found, rest = self._received.partition(f"\n{self._token} ".encode())
        status, end, _ = rest.partition(b"\n")
        if not found or not end:
            return None
        # What start-up files print comes before the first command's output.
        return CommandResult(int(status), output.decode(errors="replace"))

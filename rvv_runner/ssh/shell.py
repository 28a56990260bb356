"""A shell on a board that runs one command after another, so that it starts only once."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable

import paramiko

from rvv_runner.ssh.errors import LinkLost

__all__ = ["CommandResult", "Shell"]

_OUTPUT_LIMIT_BYTES = 4 << 20
_HEARD_BYTES = 1 << 10
_STATUS_LIMIT_S = 2.0  # an exit status may come after the end of the output


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
        """The last line of the output, which has the message of a failed command."""
        return (self.output.strip().splitlines() or [f"status {self.status}"])[-1]


class Shell:
    """A POSIX shell that waits for commands on a channel.

    The user's own shell reads its start-up files and starts this one. sshd would start the user's
    shell for every command, and bash then reads its start-up files each time, which can take longer
    than a measurement.

    Args:
        channel: a new session.

    Attributes:
        is_busy: whether a started command has not ended yet, as far as is known.
    """

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self._token = ""
        self._received = bytearray()
        self._has_answered = False
        self.is_busy = False
        channel.set_combine_stderr(True)
        channel.exec_command("sh")

    def start(self, command: str, afterwards: str = "true") -> None:
        """Start a shell command in a subshell, without input.

        Args:
            command: the command that `wait` waits for.
            afterwards: the command to run next, for which nothing waits.
        """
        self._token = secrets.token_hex(8)
        self._received.clear()
        self.is_busy = True
        line = f"(\n{command}\n) </dev/null 2>&1; printf '\\n%s %s\\n' {self._token} $?\n"
        line += f"{afterwards}\n"
        self._channel.sendall(line.encode())

    def wait(
        self, timeout_s: float, heard: Callable[[str], None] | None = None
    ) -> CommandResult | None:
        """How the command ended, or None if it still runs after `timeout_s`.

        Args:
            timeout_s: in seconds.
            heard: gets the beginning of what it has printed so far, each time that there is more.

        Raises:
            LinkLost: if the connection, or the shell, ended before the command.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            result = self._result()
            if result is not None:
                self.is_busy = False
                self._has_answered = True
                return result
            self._channel.settimeout(max(deadline - time.monotonic(), 0))
            try:
                data = self._channel.recv(1 << 16)
            except TimeoutError:
                return None
            if not data:
                raise LinkLost(f"the connection was lost ({self._why_it_ended()})")
            self._received += data
            if heard is not None:
                heard(self._received[:_HEARD_BYTES].decode(errors="replace"))
            if len(self._received) > _OUTPUT_LIMIT_BYTES:
                raise LinkLost("the connection was closed (a command printed without end)")

    def _why_it_ended(self) -> str:
        self._channel.status_event.wait(_STATUS_LIMIT_S)
        is_broken = self._channel.exit_status < 0  # there is none of a shell whose link broke
        if self._has_answered or is_broken:
            return "the shell on the board ended"
        lines = self._received.decode(errors="replace").strip().splitlines()
        said = f" with {lines[-1][:200]!r}" if lines else ""
        return (
            f"the user's shell on the board ended{said} before it ran a command: if that always "
            "happens, set another there with `chsh -s /bin/sh`"
        )

    def _result(self) -> CommandResult | None:
        output, found, rest = self._received.partition(f"\n{self._token} ".encode())
        status, end, _ = rest.partition(b"\n")
        if not found or not end:
            return None
        if not re.fullmatch(rb"\d{1,3}", status):  # thousands of digits are no number for int()
            raise LinkLost("the connection was closed (the board's shell printed no exit status)")
        # The output of start-up files precedes the first command's output.
        return CommandResult(int(status), output.decode(errors="replace"))

"""What a board's shell answers may be anything."""

from __future__ import annotations

import pytest

from rvv_runner.ssh.errors import LinkLost
from rvv_runner.ssh.shell import Shell


class Channel:
    """A session whose shell answers a command with a status of its own."""

    def __init__(self, status: str) -> None:
        self._status = status
        self._sent = b""

    def set_combine_stderr(self, combine: bool) -> None:
        pass

    def exec_command(self, command: str) -> None:
        pass

    def settimeout(self, timeout: float) -> None:
        pass

    def sendall(self, data: bytes) -> None:
        self._sent = data

    def recv(self, size: int) -> bytes:
        (line,) = (line for line in self._sent.split(b"\n") if b"printf" in line)
        token = line.split()[-2]
        return b"said\n" + token + b" " + self._status.encode() + b"\n"


@pytest.mark.parametrize("status", ["0", "126"])
def test_a_status(status):
    shell = Shell(Channel(status))
    shell.start("true")
    assert shell.wait(1).status == int(status)


@pytest.mark.parametrize("status", ["x", "-1", "9" * 5000, ""])
def test_a_status_that_is_none_ends_the_connection(status):
    shell = Shell(Channel(status))
    shell.start("true")
    with pytest.raises(LinkLost, match="printed no exit status"):
        shell.wait(1)

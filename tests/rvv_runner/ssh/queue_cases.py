"""Programs that want one board at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen

__all__ = ["Rivals", "until"]

LIMIT_S = 200.0


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@dataclass
class Rivals:
    """Programs that want one board, each told when to let go of it.

    Args:
        folder: with the lock file "lock", "log", in which each writes its name once it has the
            board, and "NAME.done", for which it keeps the board.
        start: starts a program by its name.
    """

    folder: Path
    start: Callable[[str], Popen[bytes]]
    processes: dict[str, Popen[bytes]] = field(default_factory=dict)

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def served(self) -> list[str]:
        """Who has had the board, in order."""
        log = self.folder / "log"
        return log.read_text().split() if log.exists() else []

    @property
    def tickets(self) -> int:
        """How many wait."""
        return sum(ticket.is_file() for ticket in (self.folder / "lock.queue").glob("[!.]*"))

    def come(self, name: str) -> None:
        """Start a program and wait until it has the board, or stands in the queue."""
        tickets = self.tickets
        self.processes[name] = self.start(name)
        until(lambda: name in self.served or self.tickets > tickets)

    def let_go(self, name: str) -> None:
        (self.folder / f"{name}.done").touch()
        assert self.processes[name].wait(timeout=LIMIT_S) == 0

    def check_order(self) -> None:
        """Four come, of whom the second that waits is killed; the others have the board in turn."""
        (self.folder / "lock.queue").mkdir(mode=0o777)
        os.mkfifo(self.folder / "lock.queue" / "0-put-there-by-somebody-else")
        for name in ("ann", "bob", "cyd", "dan"):
            self.come(name)
        until(lambda: "next" in self.lock.read_text())
        lines = self.lock.read_text().splitlines()
        assert [line.split()[-1].partition("@")[0] for line in lines] == ["ann", "bob"]
        assert lines[1].startswith("next ")
        self.processes["cyd"].kill()
        self.processes["cyd"].wait()
        self.let_go("ann")
        until(lambda: len(self.served) == 2)
        self.let_go("bob")
        until(lambda: len(self.served) == 3)
        assert self.served == ["ann", "bob", "dan"]
        self.let_go("dan")
        assert self.lock.read_text().strip() == ""
        assert self.tickets == 0

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

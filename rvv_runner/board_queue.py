"""Who has a board and who waits for it: a lock file, and beside it a folder of tickets in order.

A board over SSH has the same files, which `ssh/job.sh` writes there. The lock is an flock(2) of the
lock file; its text says who holds it, since when and who is next. Whoever waits has a file of its
own in the folder, named by when it came and locked for as long as its process lives. So a process
that is killed leaves the queue at once, wherever it stands.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import math
import os
import re
import secrets
import socket
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = [
    "QUEUE",
    "USED_BY",
    "WAITED_FOR_OTHERS",
    "BoardQueue",
    "Turn",
    "in_turn",
    "parse_queue",
    "this_tuner",
]

# Among a measurement's conditions: seconds for which others held the board, who held it when the
# measurement came, and a sentence about them and those who waited.
WAITED_FOR_OTHERS = "waited_for_others_s"
USED_BY = "used_by"
QUEUE = "queue"

_POLL_S = 0.005
_FIRST_TICKET = 10**12  # added to times, so that names of tickets sort by them


@dataclass(frozen=True)
class BoardQueue:
    """Who has a board and who waits for it at one moment, each with seconds since they came.

    Args:
        holder: None if nobody has it, or the lock file does not say who.
        waiting: the next one first.
    """

    holder: tuple[str, float] | None = None
    waiting: tuple[tuple[str, float], ...] = ()

    @property
    def user(self) -> str:
        """Who has the board, as far as it is known."""
        return self.holder[0] if self.holder else "another program"

    def __str__(self) -> str:
        """One sentence, without its full stop."""
        since = f" had it for {self.holder[1]:.1f} s" if self.holder else " it"
        has = f"{self.user} has{since}"
        if not self.waiting:
            return f"{has}, and nobody else waits"
        names = [name for name, _ in self.waiting]
        then = f", then {', '.join(names[1:])}" if names[1:] else ""
        return f"{has}; next is {names[0]}, who has waited for {self.waiting[0][1]:.1f} s{then}"


@dataclass(frozen=True)
class Turn:
    """How a board was got.

    Args:
        waited_s: for how long others had it.
        found: who had it and who waited when this process came; None if it was free.
    """

    waited_s: float = 0.0
    found: BoardQueue | None = None

    @property
    def conditions(self) -> dict[str, float | str]:
        """Of a measurement that had to wait; empty for any other."""
        if self.found is None:
            return {}
        return {WAITED_FOR_OTHERS: self.waited_s, USED_BY: self.found.user, QUEUE: str(self.found)}


def this_tuner() -> str:
    """Who measures, for those who wait for the board: "user@machine"."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # as in a container whose user has no entry in /etc/passwd
        user = f"uid-{os.getuid()}"
    return re.sub(r"[^\w.@-]", "_", f"{user}@{socket.gethostname()}", flags=re.ASCII)


def parse_queue(text: str) -> BoardQueue | None:
    """The queue that `job.sh` printed, None if nobody had the board; other lines are passed over.

    "held" is followed by lines such as "holder 250 me@desk" and "waiting 90 you@lab", with times in
    hundredths of a second.
    """
    if "held" not in text.splitlines():
        return None
    found = [
        (line[1], (line[3], int(line[2]) / 100))
        for line in re.finditer(r"^(holder|waiting) (\d+) ([\w.@-]+)$", text, re.MULTILINE | re.A)
    ]
    holder = next((who for what, who in found if what == "holder"), None)
    return BoardQueue(holder, tuple(who for what, who in found if what == "waiting"))


@contextlib.contextmanager
def in_turn(
    lock: Path,
    patience_s: float = math.inf,
    tell: Callable[[BoardQueue], None] = lambda queue: None,
) -> Iterator[Turn]:
    """Hold a board's lock in the block; those who want it meanwhile get it in the order they came.

    Args:
        lock: its lock file, in a folder that exists. Where every user may write it, every user may
            wait.
        patience_s: if whoever has the board, or is before this process, stays the same for so
            long, it is taken to hang, and this process goes on without the lock.
        tell: called before a wait with who is there.
    """
    descriptor = os.open(lock, os.O_RDONLY | (0 if lock.exists() else os.O_CREAT), 0o600)
    try:
        came = _now()
        if not _living_tickets(lock) and _take(descriptor):
            _write(lock, f"{_now()} {this_tuner()}\n")
            yield Turn()
        else:
            found = _found(descriptor, lock, came)
            if found is not None:
                tell(found)
            _wait(descriptor, lock, came, patience_s)
            yield Turn((_now() - came) / 100 if found else 0.0, found)
        if _take(descriptor):  # it may have gone on without the lock
            _write(lock, "")
    finally:
        os.close(descriptor)


def _found(descriptor: int, lock: Path, now: int) -> BoardQueue | None:
    """Who has the board and who waits for it; None if only builds hold its lock."""
    tickets = [_seconds_of(ticket, now) for ticket in _living_tickets(lock)]
    is_held = not _take(descriptor, fcntl.LOCK_SH)
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    if not tickets and not is_held:
        return None
    holder = _seconds_of(lock, now) if is_held else None
    return BoardQueue(holder, tuple(who for who in tickets if who is not None))


def _wait(descriptor: int, lock: Path, came: int, patience_s: float) -> None:
    """Take the lock after those who came before, or lose patience."""
    seen: object = None
    unchanged_since_s = time.monotonic()
    is_next = False
    with _ticket(lock, came) as ticket:
        while True:
            ahead = [other for other in _living_tickets(lock) if other.name < ticket.name]
            if not ahead:
                if _take(descriptor):
                    _write(lock, f"{_now()} {this_tuner()}\n")
                    return
                if not is_next:
                    _write(lock, f"next {came} {this_tuner()}\n", "a")
                is_next = True
            state = (ahead, lock.read_bytes())
            if state != seen:
                seen, unchanged_since_s = state, time.monotonic()
            elif time.monotonic() - unchanged_since_s > patience_s:
                return
            time.sleep(_POLL_S)


@contextlib.contextmanager
def _ticket(lock: Path, came: int) -> Iterator[Path]:
    """A place in the queue, which is seen there once it is locked."""
    folder = _folder(lock)
    if not folder.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        if lock.stat().st_mode & stat.S_IWOTH:
            folder.chmod(0o1777)
    ticket = folder / f"{_FIRST_TICKET + came}-{secrets.token_hex(8)}"
    unseen = ticket.with_name(f".{ticket.name}")
    descriptor = os.open(unseen, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.fchmod(descriptor, 0o644)  # others test its lock
        os.write(descriptor, f"{came} {this_tuner()}\n".encode())
        unseen.rename(ticket)
        yield ticket
    finally:
        ticket.unlink(missing_ok=True)
        os.close(descriptor)


def _living_tickets(lock: Path) -> list[Path]:
    """Of those who wait, in order; removes those of killed processes, if this user may."""
    living = []
    for ticket in sorted(_folder(lock).glob("[!.]*-*")):
        with contextlib.suppress(OSError):
            # Others may put anything there, which is then never locked.
            descriptor = os.open(ticket, os.O_RDONLY | os.O_NONBLOCK)
            try:
                if _take(descriptor):
                    ticket.unlink()
                else:
                    living.append(ticket)
            finally:
                os.close(descriptor)
    return living


def _seconds_of(file: Path, now: int) -> tuple[str, float] | None:
    """Who wrote a file, and for how long by now, from its first line, "SINCE WHO"; else None."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        since, who = file.read_text(encoding="utf-8").splitlines()[0].split()
        return who, (now - int(since)) / 100
    return None


def _write(lock: Path, text: str, mode: Literal["w", "a"] = "w") -> None:
    """Say in the lock file who has it since when; where another user owns it, that may fail."""
    with contextlib.suppress(OSError), lock.open(mode, encoding="utf-8") as file:
        file.write(text)


def _take(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _folder(lock: Path) -> Path:
    return lock.with_name(f"{lock.name}.queue")


def _now() -> int:
    """Hundredths of a second since boot, as job.sh counts them."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 10_000_000

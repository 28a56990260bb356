"""Keeps one login on a board, and logs in again if it is lost."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from rvv_runner.silence import tell_of_silence
from rvv_runner.ssh.connect import CONNECT_LIMIT_S
from rvv_runner.ssh.errors import LinkLost, NotAnswering
from rvv_runner.ssh.known_hosts import known_host_keys
from rvv_runner.ssh.route import Hop
from rvv_runner.ssh.session import Session

__all__ = ["PATIENCE_S", "Link"]

# How long to wait for a board that was reached before.
PATIENCE_S = 60.0

_PAUSE_S = 0.5
_LEAST_LIMIT_S = 3.0
_MOST_STARTS = 3  # of what is done first with a login

T = TypeVar("T")

# Prints the server's process of this login: its number, and its start in clock ticks since boot,
# which is field 22 of its stat (proc(5)). _END ends exactly that process.
_WHO = 'read -r stat </proc/$PPID/stat && set -- ${stat##*) } && shift 19 && echo "$PPID $1"'
_END = (
    "read -r stat </proc/{pid}/stat && set -- ${{stat##*) }} && shift 19 && "
    '[ "$1" = {start} ] && kill {pid}'
)


class Link:
    """A connection to a board. The next login ends the server's process of a lost one, which would
    otherwise wait for hours.

    Args:
        route: the machines to log in to, the board last.
    """

    def __init__(self, route: Sequence[Hop]) -> None:
        self._route = route
        self._session: Session | None = None
        self._login = ""  # output of _WHO for the current login, or for the lost one

    @property
    def current(self) -> Session | None:
        """The current login, or None."""
        return self._session

    def prepared(self, patience_s: float, prepare: Callable[[Session], T]) -> T:
        """What `prepare` gives with a first login; with another, if the link breaks meanwhile.

        Args:
            patience_s: for how long to wait for a board that does not answer, if its host key is
                known.
            prepare: called with the login; may raise LinkLost.

        Raises:
            NotAnswering, BoardError: if no login is possible.
            LinkLost: if the link breaks each time, or there is no patience.
        """
        is_known = bool(known_host_keys(self._route[-1]))
        deadline = time.monotonic() + (patience_s if is_known else 0.0)
        session = self.session(deadline)
        for attempt in range(1, _MOST_STARTS + 1):
            try:
                return prepare(session)
            except LinkLost as error:
                self.drop()
                if attempt == _MOST_STARTS or time.monotonic() >= deadline:
                    raise LinkLost(f"{error}: look at the cable or the network") from error
                session = self.session(deadline)
        raise AssertionError("unreachable")

    def session(self, deadline: float) -> Session:
        """The current login, or a new one.

        Args:
            deadline: when to stop trying if the board does not answer, by the monotonic clock; it
                tries at least once, and tells that it tries on.

        Raises:
            NotAnswering, BoardError: if no login is possible.
        """
        was_told = False
        while self._session is None:
            left_s = max(deadline - time.monotonic(), _LEAST_LIMIT_S)
            try:
                session = Session(self._route, min(left_s, CONNECT_LIMIT_S))
                self._replace_login(session)
                self._session = session
            except NotAnswering as error:
                left_s = deadline - time.monotonic()
                if left_s < _PAUSE_S:
                    raise
                if not was_told:
                    tell_of_silence(f"{error}; this is tried again for {left_s:.0f} s")
                was_told = True
                time.sleep(_PAUSE_S)
        if was_told:
            tell_of_silence("it answers again")
        return self._session

    def _replace_login(self, session: Session) -> None:
        try:
            lost, self._login = self._login, session.run(_WHO).output.strip()
            if re.fullmatch(r"\d+ \d+", lost):
                pid, start = lost.split()
                session.run(_END.format(pid=pid, start=start))
        except LinkLost as error:
            session.close()
            raise NotAnswering(str(error)) from error

    def drop(self) -> None:
        """End the current login, if any."""
        if self._session is not None:
            self._session.close()
            self._session = None

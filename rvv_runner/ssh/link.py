"""Keeps one login on a board, and gets another where it is lost."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from rvv_runner.ssh.connect import CONNECT_LIMIT_S
from rvv_runner.ssh.errors import LinkLost, NotAnswering
from rvv_runner.ssh.known_hosts import known_host_keys
from rvv_runner.ssh.route import Hop
from rvv_runner.ssh.session import Session

__all__ = ["PATIENCE_S", "Link"]

# How long a board is waited for that has been reached before.
PATIENCE_S = 60.0

_PAUSE_S = 0.5
_LEAST_LIMIT_S = 3.0


# The server's process of this login, as its number and when it began in clock ticks since boot,
# which is field 22 of its stat (proc(5)); and how to end just that process.
_WHO = 'read -r stat </proc/$PPID/stat && set -- ${stat##*) } && shift 19 && echo "$PPID $1"'
_END = (
    "read -r stat </proc/{pid}/stat && set -- ${{stat##*) }} && shift 19 && "
    '[ "$1" = {start} ] && kill {pid}'
)


class Link:
    """A way to a board. The server's end of a login that was lost is ended with the next one,
    since it would wait there for hours.

    Args:
        route: the machines to log in to, the board last.
    """

    def __init__(self, route: Sequence[Hop]) -> None:
        self._route = route
        self._session: Session | None = None
        self._login = ""  # what _WHO says of the login, or of the one that was lost

    @property
    def current(self) -> Session | None:
        """The login that there is."""
        return self._session

    def first_session(self, patience_s: float) -> Session:
        """A login on a board that is waited for only where its host key is known.

        Raises:
            NotAnswering, BoardError: if there is none to be had.
        """
        is_known = bool(known_host_keys(self._route[-1]))
        return self.session(time.monotonic() + (patience_s if is_known else 0.0))

    def session(self, deadline: float) -> Session:
        """The login that there is, or a new one.

        Args:
            deadline: by the monotonic clock, until when to try where the board does not answer; it
                is tried once in any case.

        Raises:
            NotAnswering, BoardError: if there is none to be had.
        """
        while self._session is None:
            left_s = max(deadline - time.monotonic(), _LEAST_LIMIT_S)
            try:
                session = Session(self._route, min(left_s, CONNECT_LIMIT_S))
                self._replace_login(session)
                self._session = session
            except NotAnswering:
                if time.monotonic() + _PAUSE_S > deadline:
                    raise
                time.sleep(_PAUSE_S)
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
        """End the login that there is."""
        if self._session is not None:
            self._session.close()
            self._session = None

"""When and where a configuration was built and measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

__all__ = ["Span", "span"]


class Span(NamedTuple):
    """A stretch of work on one configuration.

    Args:
        what: the work.
        where: the builder or board.
        start_s, end_s: in seconds since the epoch.
    """

    what: Literal["build", "measure"]
    where: str
    start_s: float
    end_s: float


@contextmanager
def span(
    spans: list[Span], what: Literal["build", "measure"], where: Callable[[], str]
) -> Iterator[None]:
    """Append the span of the block to `spans`, however it ends; `where` is asked at its end.

    It is as long as the block took, even where the clock was set meanwhile.
    """
    start_s, started_s = time.time(), time.monotonic()
    try:
        yield
    finally:
        took_s = time.monotonic() - started_s
        spans.append(Span(what, where(), start_s, start_s + took_s))

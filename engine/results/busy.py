"""How busy the boards were in a run, and what they waited for."""

from __future__ import annotations

from engine.run.events import RunEnded

__all__ = ["busy_line", "busy_sentence"]

_LEAST_S = 0.05  # shorter waits are not told of


def busy_sentence(ended: RunEnded) -> str | None:
    """ "boards busy: 97%; waited 1.2 s for builders"; None if no board has measured."""
    if ended.busy is None:
        return None
    longest_first = sorted(ended.waits_s.items(), key=lambda wait: -wait[1])
    waits = [
        f"{waited_s:.1f} s for {cause}" for cause, waited_s in longest_first if waited_s >= _LEAST_S
    ]
    return f"boards busy: {ended.busy:.0%}" + (f"; waited {', '.join(waits)}" if waits else "")


def busy_line(ended: RunEnded) -> list[str]:
    """The same as fields, for programs; empty if no board has measured."""
    if ended.busy is None:
        return []
    waits = [
        f"waited_for_{cause.replace(' ', '_')}_s={waited_s:.3f}"
        for cause, waited_s in sorted(ended.waits_s.items())
    ]
    return ["\t".join([f"busy={ended.busy:.3f}", *waits])]

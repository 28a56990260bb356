"""What of a captured kernel varies and what stays, with each reason once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernels.captured.freedom import Freedom

__all__ = ["FreedomText", "freedom_texts"]


@dataclass(frozen=True)
class FreedomText:
    """Constexprs that vary, or stay, for one reason.

    Args:
        subject: their names, with their values if they stay: "H=2, K=64 and V=64".
        verb: what they do: "varies", "vary", "stays" or "stay".
        why: the values that are tried, or the reason why none is.
    """

    subject: str
    verb: str
    why: str


def freedom_texts(freedoms: Iterable[Freedom]) -> tuple[FreedomText, ...]:
    """What varies and what stays, in the kernel's order, with those of one reason together."""
    groups: dict[tuple[bool, str], list[str]] = {}
    for one in freedoms:
        if one.varies:
            values = ", ".join(map(str, one.values))
            values += " on GPUs" if one.is_hint else ""
            groups.setdefault((True, f"{values}; {one.why}"), []).append(one.name)
        else:
            groups.setdefault((False, one.why), []).append(f"{one.name}={one.deployed}")
    return tuple(_text(names, why, varies=varies) for (varies, why), names in groups.items())


def _text(names: list[str], why: str, *, varies: bool) -> FreedomText:
    is_one = len(names) == 1
    subject = names[0] if is_one else f"{', '.join(names[:-1])} and {names[-1]}"
    if varies:
        return FreedomText(subject, "varies" if is_one else "vary", why)
    is_verb = why.startswith(("is ", "follows "))
    pronoun = ("it " if is_one else "each ") if is_verb else ""
    return FreedomText(subject, "stays" if is_one else "stay", f"{pronoun}{why}")

"""Lines of key=value fields, as output that is not a terminal gets them."""

from __future__ import annotations

from collections.abc import Mapping

from foundation.printing import printable

__all__ = ["field_line", "yes_no"]


def yes_no(value: bool) -> str:
    """A truth value in a field: `yes` or `no`."""
    return "yes" if value else "no"


def field_line(fields: Mapping[str, object]) -> str:
    """Fields separated by tabs; of numbers nine digits, and no field that is None."""
    return "\t".join(
        f"{name}={_text(value)}" for name, value in fields.items() if value is not None
    )


def _text(value: object) -> str:
    if isinstance(value, bool):
        return yes_no(value)
    return f"{value:.9g}" if isinstance(value, float) else " ".join(printable(value).split())

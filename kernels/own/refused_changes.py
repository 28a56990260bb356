"""What is said of inputs on which a kernel's default configuration differs from its reference."""

from __future__ import annotations

from kernels.own.changed_inputs import Change

__all__ = ["on_refused"]


def on_refused(refused: list[tuple[dict[str, Change], str]]) -> str:
    """What the default configuration gets wrong under the change of the fewest tensors; "" for
    changes that few kernels mean to take: flags and labels are bytes, too, and most integers places
    and lengths.

    Args:
        refused: changes by tensor, and the first element that is wrong under them.
    """
    refused = [each for each in refused if not any(map(_is_unusual, each[0].values()))]
    if not refused:
        return ""
    changes, mismatch = min(refused, key=lambda each: len(each[0]))
    change = next(iter(changes.values()))
    return (
        f"the check keeps {', '.join(changes)} close to what arguments makes, since the default "
        f"configuration differs from reference on other inputs: {_in_words(change)}, {mismatch}"
    )


def _is_unusual(change: Change) -> bool:
    integers = change.extremes or change.negative or change.larger or bool(change.marker)
    floats = change.zero_rows or change.halfway or change.infinite
    return integers or floats or change.backwards or change.uneven


def _in_words(change: Change) -> str:
    if change.zeros:
        return "with zeros among its elements"
    if change.halves:
        return "with some elements half as large"
    ties = "some equal, none zero, " if change.ties else ""
    signs = "of either sign and " if change.signs else ""
    return f"with elements {ties}{signs}up to {change.row_scale * change.heavy:g} times as large"

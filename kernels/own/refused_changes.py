"""What is said of inputs on which a kernel's default configuration differs from its reference, or
does not end."""

from __future__ import annotations

from kernels.own.changed_inputs import Change

__all__ = ["on_endless", "on_marker", "on_refused"]

# Of a change of integers, by what is tried last of it.
_WORDS = {
    "marker": "with negative elements",
    "place": "with the last place of another tensor among its elements",
    "backwards": "with its elements in reverse order",
    "uneven": "with its elements in other steps",
    "negative": "with negative elements",
    "larger": "with some elements more than twice as large",
    "extremes": "with the largest and the smallest of its type among its elements",
    "halves": "with some elements half as large",
    "zeros": "with zeros among its elements",
}


def on_refused(refused: list[tuple[dict[str, Change], str]]) -> str:
    """What the default configuration gets wrong under the change of the fewest tensors; "" for
    changes that few kernels mean to take: flags and labels are bytes, too, and most integers places
    and lengths.

    Args:
        refused: changes by tensor, without those under which it is right, and the first element
            that is wrong under them.
    """
    refused = [each for each in refused if not any(map(_is_unusual, each[0].values()))]
    if not refused:
        return ""
    changes, mismatch = min(refused, key=lambda each: len(each[0]))
    change = next(iter(changes.values()))
    if change.zero_rows:
        names, scale = ", ".join(changes), change.row_scale**2
        return (
            "the default configuration differs from reference with rows of zeros and rows "
            f"{scale:g} times smaller in {names}, which the check leaves out: {mismatch}"
        )
    return (
        f"the check keeps {', '.join(changes)} close to what arguments makes, since the default "
        f"configuration differs from reference on other inputs: {_in_words(change)}, {mismatch}"
    )


def on_endless(endless: list[dict[str, Change]]) -> str:
    """That the default configuration does not end under the change of the fewest tensors; "" where
    there is none. Others see such inputs only as their users do, so any is worth a word.

    Args:
        endless: changes by tensor.
    """
    if not endless:
        return ""
    changes = min(reversed(endless), key=len)  # the weakest
    return (
        f"the check keeps {', '.join(changes)} close to what arguments makes, since the default "
        f"configuration does not end on other inputs: {_in_words(next(iter(changes.values())))}"
    )


def on_marker(name: str, marker: int, said: str) -> str:
    """That the default configuration is wrong for a label that `reference` ignores.

    Args:
        name: of the tensor of labels.
        marker: the label.
        said: the first element that is wrong, or what was accessed.
    """
    return (
        f"the default configuration is wrong where {name} has {marker}, a label that reference "
        f"ignores (it refuses {marker - 1}), and the check leaves it out: {said}"
    )


def _is_unusual(change: Change) -> bool:
    integers = change.extremes or change.negative or change.larger or change.place or change.marker
    floats = change.halfway or change.infinite or change.masked_rows or change.nan
    # What is defined for positive numbers alone may not be for zeros.
    zeros = change.zero_rows and not change.signs
    others = change.backwards or change.uneven or change.gaps
    return bool(integers) or floats or zeros or others


def _in_words(change: Change) -> str:
    for field, words in _WORDS.items():
        if getattr(change, field):
            return words
    if change.row_scale < 1:  # of a number
        return "with another number"
    if change.far:
        return "with a row far from zero"
    ties = "some equal, none zero, " if change.ties else ""
    signs = "of either sign and " if change.signs else ""
    return f"with elements {ties}{signs}up to {change.row_scale * change.heavy:g} times as large"

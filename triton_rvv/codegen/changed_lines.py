"""Changes lines of the functions in a module's text, for what LLVM's passes cannot be told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

__all__ = ["with_changed_lines"]

# Of the lines of one function, the numbers of some, and what comes in their place.
Changes = Callable[[Sequence[str]], Iterable[tuple[int, str]]]

_START, _END = "\ndefine ", "\n}"


def with_changed_lines(llir: str, changes: Changes) -> str:
    """The text of a module with changes to each function, whose names are its own."""
    head, *functions = f"\n{llir}".split(_START)
    return _START.join((head, *(_changed(function, changes) for function in functions)))[1:]


def _changed(text: str, changes: Changes) -> str:
    function, end, behind = text.partition(_END)
    lines = function.split("\n")
    if not (new := dict(changes(lines))):
        return text
    changed = (new.get(number, line) for number, line in enumerate(lines))
    return "".join(("\n".join(changed), end, behind))

"""Changes lines of the functions in a module's text, for what LLVM's passes cannot be told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

__all__ = ["with_changed_lines"]

# Of the lines of one function, the numbers of some, and what comes in their place.
Changes = Callable[[Sequence[str]], Iterable[tuple[int, str]]]

_FUNCTION = re.compile(r"^define .*?^}$", re.MULTILINE | re.DOTALL)


def with_changed_lines(llir: str, changes: Changes) -> str:
    """The text of a module with changes to each function, whose names are its own."""

    def changed(function: re.Match[str]) -> str:
        lines = function[0].splitlines()
        new = dict(changes(lines))
        return "\n".join(new.get(number, line) for number, line in enumerate(lines))

    return _FUNCTION.sub(changed, llir)

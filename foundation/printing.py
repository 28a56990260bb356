"""Prints what others may have written, with nothing in it that a terminal obeys.

A terminal obeys control characters: they can hide text, change what was printed before, and in
some terminals run commands. Characters that turn the direction of writing, or that show nothing,
can make one name look like another.
"""

from __future__ import annotations

import contextlib
import re
import sys
import textwrap
from typing import Any

__all__ = ["others_print_aside", "printable", "printable_lines", "say", "wrapped"]

# Control characters; then those of Unicode's category Cf that hide or reorder text, and lone
# surrogates, which cannot be written at all.
_OBEYED = "\x00-\x1f\x7f-\x9f"
_MISLEADING = (
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff"
)
_COLUMNS = 80
_UNPRINTABLE = re.compile(f"[{_OBEYED}{_MISLEADING}]")
_UNPRINTABLE_IN_LINES = re.compile(f"(?![\n\t])[{_OBEYED}{_MISLEADING}]")


def printable(value: object) -> str:
    """A value as one line of text, with Python's escapes for what a terminal would obey."""
    return _UNPRINTABLE.sub(_escape, str(value))


def printable_lines(text: str) -> str:
    """The same for a text of several lines, whose newlines and tabs stay."""
    return _UNPRINTABLE_IN_LINES.sub(_escape, text)


def wrapped(line: str, indent: int = 2) -> str:
    """A line in as many as fit 80 columns, those after the first indented. Words stay whole."""
    return textwrap.fill(
        line,
        _COLUMNS,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def say(*values: object, **options: Any) -> None:
    """`print`, with escapes for what a terminal would obey, other than newlines and tabs.

    The text and its end are written at once, so that lines of several threads stay apart.

    Raises:
        OSError: if it cannot be written, such as to a file on a full disk.
    """
    separator, end = options.pop("sep", " "), options.pop("end", "\n")
    text = separator.join(printable_lines(str(value)) for value in values)
    try:
        print(f"{text}{end}", end="", **{"file": sys.stdout, **options})
    except OSError as error:
        raise type(error)(error.errno, error.strerror, "the output") from error


def others_print_aside() -> contextlib.AbstractContextManager[object]:
    """Within the block, what other code prints goes to stderr: stdout has results alone."""
    return contextlib.redirect_stdout(sys.stderr)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()

"""Draws what a command printed on a terminal: the picture of `make tune` in these pages.

script -qc "stty cols 100; .venv/bin/rvv-tune tune matmul --trials 50" typescript
.venv/bin/python docs/terminal_picture.py "make tune" typescript docs/pictures/tune.svg \
    --until "The winner "
"""

from __future__ import annotations

import argparse
import io
import re
from pathlib import Path

from rich.text import Text

from foundation.console import EscapingConsole

__all__ = ["picture"]

_COLUMNS = 100
# A live display hides the cursor and shows it again at its end; the result follows.
_CURSOR_SHOWN = "\x1b[?25h"
# Rich's pictures name a font for browsers to fetch; these pages fetch nothing.
_FETCHED_FONT = re.compile(r"@font-face\s*{[^}]*}\s*")


def picture(title: str, typed: str, until: str = "", columns: int = _COLUMNS) -> str:
    """An SVG of what stands on a terminal after a live display.

    Args:
        title: of the terminal's window.
        typed: what `script` wrote, with escape sequences.
        until: the last line that is drawn is the last with this text, and the first one follows the
            live display before it; "" draws all lines after the last display.
        columns: of the terminal.
    """
    first, _, rest = typed.replace("\r\n", "\n").rpartition(until) if until else (typed, "", "")
    printed = (first + until + rest.partition("\n")[0]).rpartition(_CURSOR_SHOWN)[2]
    printed = re.sub(r"\nScript done on .*", "", printed.replace("\r\n", "\n")).strip("\n")
    console = EscapingConsole(record=True, width=columns, file=io.StringIO())
    console.print(Text.from_ansi(printed))
    return _FETCHED_FONT.sub("", console.export_svg(title=title))


def main() -> None:
    """Read the typescript and write the picture."""
    parser = argparse.ArgumentParser(description="Draws what a command printed on a terminal.")
    parser.add_argument("title", help="of the terminal's window")
    parser.add_argument("typescript", type=Path, help="what script wrote")
    parser.add_argument("svg", type=Path, help="the picture")
    parser.add_argument(
        "--until", default="", help="the last line with this text is the last drawn"
    )
    given = parser.parse_args()
    given.svg.write_text(picture(given.title, given.typescript.read_text(), given.until))


if __name__ == "__main__":
    main()

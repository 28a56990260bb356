"""Rich's console for tables and progress, which shows nothing that a terminal would obey."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from foundation.printing import printable_lines

__all__ = ["EscapingConsole"]

_UNLIMITED = 10_000  # wider than any table
_FOLDED = 8  # columns that any column of long words gets


class EscapingConsole(Console):
    """A console whose texts, wherever they come from, are printed with escapes.

    Its own movements of the cursor and its colours are no texts.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; tables show all of their cells, however narrow the terminal is.

        Rich would cut numbers and leave out columns. Here words are folded, and the terminal breaks
        the lines of a table that is still too wide.
        """
        before = self._width
        for table in objects:
            if isinstance(table, Table):
                self._width = self._width_for(table) or self._width
        try:
            super().print(*objects, **options)
        finally:
            self._width = before

    def _width_for(self, table: Table) -> int:
        """Fold all words of a table; return its full width if it is too wide even so, else 0."""
        folded = [column for column in table.columns if column.overflow == "fold"]
        wide = self.options.update(max_width=_UNLIMITED)
        whole = Measurement.get(self, wide, table).maximum
        for column in folded:
            column.width = _FOLDED
        least = Measurement.get(self, wide, table).minimum
        for column in folded:
            column.width = None
        for column in table.columns:
            column.overflow = "fold"
        return whole if least > self.width else 0

    def render_str(self, text: str, **options: Any) -> Text:
        """Escaped before its width is measured, so that columns fit."""
        return super().render_str(printable_lines(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Escaped at the latest here, however the text was made."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)

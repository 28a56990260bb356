"""Rich's console for tables and progress, which shows nothing that a terminal would obey."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from foundation.printing import printable_lines

__all__ = ["EscapingConsole"]


class EscapingConsole(Console):
    """A console whose texts, wherever they come from, are printed with escapes.

    Its own movements of the cursor and its colours are no texts.
    """

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

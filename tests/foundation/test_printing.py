"""Nothing that others wrote reaches a terminal as something that it obeys, whoever prints it."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from foundation.console import EscapingConsole
from foundation.printing import printable, say

# Sets the title of a terminal, moves its cursor, turns the direction of writing.
HOSTILE = "a\x1b]0;owned\x07\x1b[2J\x9b1A\rb\u202ec\u200bd\x00"
SHOWN = r"a\x1b]0;owned\x07\x1b[2J\x9b1A\rb\u202ec\u200bd\x00"


def is_harmless(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


def test_what_a_terminal_obeys_is_escaped_and_the_rest_stays() -> None:
    assert printable(HOSTILE) == SHOWN
    assert printable("one\ttwo\nthree") == r"one\ttwo\nthree"
    assert printable("Zeit 3 µs, 日本語, é") == "Zeit 3 µs, 日本語, é"
    assert printable("bad \udcff byte") == r"bad \udcff byte"


def test_lines_that_are_said_keep_their_newlines() -> None:
    output = io.StringIO()
    say(f"{HOSTILE}\tx\nnext", file=output)
    assert output.getvalue() == f"{SHOWN}\tx\nnext\n"


@pytest.mark.parametrize("made", ["text", "markup", "cell", "title", "live"])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_tables_and_lines_of_a_terminal_are_escaped(made: str, is_terminal: bool) -> None:
    output = io.StringIO()
    console = EscapingConsole(file=output, width=120, force_terminal=is_terminal, color_system=None)
    match made:
        case "text":
            console.print(Text(HOSTILE))
        case "markup":
            console.print(f"study: {escape(HOSTILE)}", highlight=False)
        case "cell":
            table = Table(box=SIMPLE)
            table.add_column("name")
            table.add_row(HOSTILE)
            console.print(table)
        case "title":
            console.print(Table("a column " * 10, title=HOSTILE))
        case "live":
            console.print(HOSTILE, markup=False, highlight=False, soft_wrap=True)
    assert is_harmless(output.getvalue())
    assert SHOWN[:10] in output.getvalue()


@pytest.mark.parametrize("columns", [80, 60, 40, 20, 5])
def test_nothing_of_a_table_is_cut_on_a_narrow_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    output = io.StringIO()
    table = Table("model", "fastest under it", "winner loses", "default loses", box=SIMPLE)
    table.add_row("prefetch-dropped", "M=128 N=64 K=256 GROUP_M=2", "10.5%", "7.25%")
    EscapingConsole(file=output).print(table)
    assert "…" not in output.getvalue()
    assert {"10.5%", "7.25%"} <= set(output.getvalue().split())


def test_the_sentence_of_a_mistake_is_escaped(tmp_path: Path) -> None:
    program = (
        "from foundation.command_line import run_command\n"
        "from foundation.errors import UserError\n"
        "def main(argv):\n"
        f"    raise UserError('there is no ' + {HOSTILE!r})\n"
        "run_command(main, 'tried')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.stderr == f"tried: there is no {SHOWN}\n"
    assert done.returncode == 2

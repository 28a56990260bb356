"""Texts of boards, studies and files reach the terminal with escapes, whichever way they come."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest
from search_helpers import IDENTITY, SPACE, run, search_in

from engine import collect, export
from engine.reports.written import report_path
from engine.results.progress import LineProgress, LiveProgress
from engine.run.events import Event, RunStarted, StageStarted, Standing, StudyOpened, TrialFinished
from engine.search import Search
from engine.study.storage import open_study
from engine.tables.table_file import open_table
from engine.workers.board_events import BoardNote, BoardTakenOut
from foundation.config import Config
from foundation.document import read_document
from foundation.errors import UserError
from foundation.printing import printable
from rvv_runner.measurement import Measurement

HOSTILE = "x\x1b]0;owned\x07\x9b2J\u202ey"
CONFIG = Config({HOSTILE: HOSTILE})
STANDING = Standing(1, 2, (CONFIG, 0.5), 1.0)
EVENTS: list[Event] = [
    StageStarted(f"opening the board {HOSTILE}"),
    StudyOpened(HOSTILE, 1, HOSTILE),
    RunStarted(STANDING, estimated=True),
    BoardTakenOut(HOSTILE, f"its kernel said\n{HOSTILE}"),
    BoardNote(HOSTILE, HOSTILE),
    TrialFinished(CONFIG, Measurement(status="board", reason=HOSTILE), None, STANDING),
    TrialFinished(CONFIG, Measurement(status="runtime", reason=HOSTILE), None, STANDING),
]


def assert_escaped(text: str) -> None:
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text), repr(text)
    assert printable(HOSTILE)[:8] in text


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_lines_of_progress(event: Event, capsys: pytest.CaptureFixture[str]) -> None:
    output = io.StringIO()
    with contextlib.redirect_stderr(output):
        LineProgress(output)(event)
    if not isinstance(event, RunStarted):
        assert_escaped(output.getvalue())
        assert output.getvalue().count("\n") == 1


def test_the_live_line() -> None:
    """Its own movements of the cursor stay."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    live = LiveProgress(terminal)
    for event in EVENTS:
        live(event)
    live.stop()
    shown = terminal.getvalue()
    assert "\x1b]0" not in shown
    assert not {"\x07", "\x9b", "\u202e"} & set(shown)
    assert printable(HOSTILE)[:8] in shown


def test_a_studys_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also one that would name a folder elsewhere."""
    storage = str(tmp_path / "t.journal")
    for name in (HOSTILE, ".."):
        trials = open_study(storage, IDENTITY, SPACE, name)
        list(run(Search(SPACE, "random", 0, trials), 3))
    out = tmp_path / "a" / "b"
    assert export.main(["--storage", storage, "--out", str(out)]) == 0
    said = capsys.readouterr().out  # its control characters are no part of a folder's name
    assert r"x_]0;owned_\x9b2J\u202ey: 3 trials" in said
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(said)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "t.journal"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]
    with pytest.raises(UserError):
        search_in(f"{tmp_path}/t.journal/{HOSTILE}")


def test_names_longer_than_a_file_may_have(tmp_path: Path) -> None:
    """They keep their own files, beside studies with other names."""
    storage = str(tmp_path / "t.journal")
    names = ["short", *("long" * 75 + end for end in ("", "er", "ä"))]
    for name in names:
        list(run(Search(SPACE, "random", 0, open_study(storage, IDENTITY, SPACE, name)), 3))
    assert export.main(["--storage", storage, "--out", str(tmp_path / "out")]) == 0
    assert len(list((tmp_path / "out").glob("*/trials.csv"))) == len(names)
    assert len(report_path(storage, names).name.encode()) < 256


def test_formulas_reach_no_spreadsheet(tmp_path: Path) -> None:
    storage = str(tmp_path / "t.journal")
    search = Search(SPACE, "random", 0, open_study(storage, IDENTITY, SPACE, "study"))
    for reason in ("=HYPERLINK(1)", "+1", "-1", "@a", "as it is"):
        search.tell(search.ask(), None, status="runtime", attributes={"reason": reason})
    assert export.main(["--storage", storage, "--out", str(tmp_path)]) == 0
    table = pandas.read_csv(tmp_path / "study" / "trials.csv")
    assert list(table["reason"]) == ["'=HYPERLINK(1)", "'+1", "'-1", "'@a", "as it is"]


@pytest.mark.parametrize("read", [lambda path: read_document(path, "list"), open_table])
def test_a_file_without_an_end(read: Callable[[Path], object], tmp_path: Path) -> None:
    endless = tmp_path / "endless.json"
    endless.symlink_to("/dev/zero")
    with pytest.raises(UserError, match="has more than 256 MiB: give another file"):
        read(endless)


def test_a_file_that_came_with_a_folder(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(HOSTILE)
    with pytest.raises(UserError, match="is not a folder that") as caught:
        collect.main([str(tmp_path)])
    assert "\x1b" not in printable(caught.value)

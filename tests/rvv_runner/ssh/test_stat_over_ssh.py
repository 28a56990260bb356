"""Counting what a plain program does on a board over SSH, by the board's perf."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ssh_cases import set_path

from rvv_runner.board import BoardError
from rvv_runner.program import read_program
from triton_rvv.codegen.zig import run_zig_cc

ENDS_WITH_6 = (
    '#include <stdio.h>\nint main(int c, char **v) { puts(v[1]); fputs("e", stderr); return 6; }'
)

# A perf with two counters that does not know r9, and like the real one ends with 0 where a signal
# ended the program.
FAKE_PERF = """#!/bin/sh
while [ "$1" != -- ]; do
    case $1 in -e) events=$2 ;; -o) out=$2 ;; --log-fd) exec 8>&"$2" ;; esac
    shift
done
shift
"$@"
status=$?
[ "$status" -lt 128 ] || status=0
exec 8>"$out"
number=0
for event in $(echo "$events" | tr , ' '); do
    number=$((number + 1))
    percent=100.00
    [ "$number" -le 2 ] || percent=50.00
    case $event in
        r9) echo "<not supported>;;r9:u;0;100.00;;" ;;
        task-clock) echo "2.50;msec;task-clock:u;2500000;100.00;1.0;CPUs utilized" ;;
        *) echo "1000;;$event:u;5000;$percent;;" ;;
    esac
done >&8
exit "$status"
"""


@pytest.fixture
def perf(server, tmp_path: Path) -> Path:
    """A perf that the board's users find first."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "perf").write_text(FAKE_PERF)
    (folder / "perf").chmod(0o755)
    set_path(server, f"{folder}:{os.environ['PATH']}")
    return folder / "perf"


def _program(folder: Path, source: str, *arguments: str):
    text, program = folder / "program.c", folder / "program"
    text.write_text(source)
    run_zig_cc(["-static", str(text), "-o", str(program)], timeout_s=200)
    return read_program(program, arguments)


def test_a_program_is_counted_once_with_its_status_and_outputs(perf, open_board, tmp_path):
    board = open_board(events={"first": 1, "unknown": 9})
    counts = board.count(_program(tmp_path, ENDS_WITH_6, "word; $HOME"))
    assert (counts.status, counts.stdout, counts.stderr) == (6, "word; $HOME\n", "e")
    (scope,) = counts.scopes
    assert scope.time_s == 0.0025
    assert scope.counts["first"] == 1000
    assert scope.counts["instructions"] == 1000
    assert scope.counts["unknown"] is None
    assert counts.estimated == frozenset()
    (note,) = counts.notes
    assert "counted for a part of the time" in note
    assert "first (50%)" in note


def test_a_signal_is_told_apart_and_a_missing_perf_leaves_the_run(perf, open_board, tmp_path):
    ended = _program(tmp_path, "#include <stdlib.h>\nint main(void) { abort(); }")
    assert open_board().count(ended).status == 128 + 6
    perf.write_text("#!/bin/sh\necho 'Access is limited.' >&2\nexit 255\n")
    counts = open_board(events={"first": 1}).count(ended)
    assert counts.status == 128 + 6
    assert counts.scopes[0].counts["first"] is None
    assert counts.scopes[0].time_s is None
    assert counts.notes == ("no events were counted: Access is limited",)


def test_a_program_without_end_is_ended(open_board, tmp_path, monkeypatch):
    monkeypatch.setattr("rvv_runner.ssh.board.PROGRAM_LIMIT_S", 1.0)
    endless = _program(tmp_path, 'int main(void) { for (;;) __asm__ volatile(""); }')
    with pytest.raises(BoardError, match="did not end within 1 s"):
        open_board().count(endless)

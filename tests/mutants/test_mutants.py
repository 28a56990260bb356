"""Mutants are drawn, placed and probed as the mutation table needs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mutants import PARTS, draw, mutants_of
from probes import insert_probes, reaching_tests, write_probe_module

PROJECT = Path(__file__).resolve().parents[2]
TEXT = '''
LIMIT = 3


def chosen(values, limit=LIMIT):
    """Never an edit: 1 + 1."""
    kept = [v for v in values if 0 < v and v + 1 < limit]
    if not kept:
        print(f"none of {len(values) + 1}")
    return "ä" + "b", kept, (len(values) - 4) * 2
'''


def test_each_expression_of_a_function_has_its_edits() -> None:
    edits = {(m.old, m.new) for m in mutants_of("file.py", TEXT)}
    assert ("v + 1 < limit", "((v + 1) <= (limit))") in edits
    assert ("0 < v and v + 1 < limit", "((0 < v) or (v + 1 < limit))") in edits
    assert ("(len(values) - 4) * 2", "((len(values) - 4) + (2))") in edits
    assert ("not kept", "(kept)") in edits
    assert ("v + 1", "((v) - (1))") in edits
    assert {old for old, _ in edits}.isdisjoint({"3", "len(values) + 1", '"ä" + "b"'})
    for mutant in mutants_of("file.py", TEXT):
        assert TEXT[mutant.start : mutant.end] == mutant.old
        compile(TEXT[: mutant.start] + mutant.new + TEXT[mutant.end :], "file.py", "exec")


@pytest.mark.long
def test_a_seed_draws_the_same_mutants_of_each_part() -> None:
    drawn = draw(5, PROJECT)
    assert drawn == draw(5, PROJECT) != draw(6, PROJECT)  # of files that are parsed once
    for part, count in PARTS.items():
        assert sum(mutant.file.startswith(part) for mutant in drawn) == count


def test_probes_note_the_test_and_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text(TEXT)
    mutants = list({m.line: m for m in mutants_of("file.py", TEXT)}.values())
    notes = tmp_path / "reached.tsv"
    insert_probes(mutants, tmp_path)
    write_probe_module(tmp_path, notes)
    program = "import file; print(file.chosen([0, 1, 2, 3]))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTEST_CURRENT_TEST": "test_a.py::test_it[1] (call)"},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert done.stdout == "('äb', [1], 0)\n"
    of_lines = {m.line: reaching_tests(notes, number) for number, m in enumerate(mutants)}
    assert of_lines == {
        line: [] if line == 9 else ["test_a.py::test_it[1]"] for line in range(7, 11)
    }


def test_fast_tests_of_different_files_come_in_turns(tmp_path: Path) -> None:
    notes = tmp_path / "reached.tsv"
    notes.write_text("0\ta.py::x\n0\ta.py::y\n1\tb.py::q\n0\tb.py::z\n0\ta.py::x\n0\t\n")
    assert reaching_tests(notes, 0) == ["a.py::x", "b.py::z", "a.py::y"]
    with notes.open("a") as file:
        file.write("0.100 s\ta.py::x\n2.000 s\ta.py::x\n0.500 s\ta.py::y\n0.200 s\tb.py::z\n")
    assert reaching_tests(notes, 0) == ["b.py::z", "a.py::y", "a.py::x"]

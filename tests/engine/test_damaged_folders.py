"""What comes back from a board by hand is checked, and the file and line that is damaged named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.by_hand.checked_rows import checked_rows
from engine.by_hand.perf_table import append_row
from foundation.errors import UserError

ROW = {
    "Timestamp": "2026-01-01 00:00:00",
    "ELF Name": "VL256_add_64.elf",
    "BLOCK_SIZE": "64",
    "Valid Output": "YES",
    "Kernel Time (s)": "0.001500000",
    "Total Time (s)": "0.100000",
    "u_mode_cycle": "2000",
    "Kernel Times (s)": "0.001000000 0.002000000",
    "Max Abs Error": "0.0",
    "Status": "correct",
    "ELF SHA256": "ab" * 32,
}
VARIANT = {"BLOCK_SIZE": 64, "elf_path": f"bin/{ROW['ELF Name']}", "sha256": ROW["ELF SHA256"]}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    configs = {
        "parameters": ["BLOCK_SIZE"],
        "variants": [VARIANT],
        "perf_files": {"stat": "perf_stats.csv"},
    }
    (tmp_path / "configs.json").write_text(json.dumps(configs))
    append_row(tmp_path / "perf_stats.csv", ["BLOCK_SIZE"], ROW)
    return tmp_path


def test_a_whole_row_is_taken(run: Path) -> None:
    (row,) = checked_rows(run)
    assert row.config == {"BLOCK_SIZE": 64}
    assert (row.time_s, row.times_s) == (0.0015, (0.001, 0.002))
    assert row.counters == {"u_mode_cycle": 2000}


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("Kernel Time (s)", "0.000001500", "is 0.000001500, and the median of its"),
        ("Kernel Time (s)", "", "is missing, and the median of its"),
        ("Kernel Times (s)", "0.001 0.00z", "could not convert string to float"),
        ("Kernel Times (s)", "0.001 -0.002", "a time is not positive"),
        ("Kernel Times (s)", "0.001 nan", "nan is no number"),
        ("u_mode_cycle", "20q0", "could not convert string to float"),
        ("BLOCK_SIZE", "128", "its BLOCK_SIZE is 128, and that of its executable is 64"),
        ("Status", "corect", "there is no status 'corect'"),
    ],
)
def test_a_damaged_row_is_named(column: str, value: str, why: str, run: Path) -> None:
    append_row(run / "perf_stats.csv", ["BLOCK_SIZE"], {**ROW, column: value})
    with pytest.raises(UserError, match="copy the folder perf from the board again") as caught:
        checked_rows(run)
    assert str(caught.value).startswith(f"{run}/perf_stats.csv, line 3, is damaged (")
    assert why in str(caught.value)


def cut(path: Path) -> None:
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][: len(lines[1]) // 2], ""]))


def overwrite(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"correct", b"corr\xff\x00t"))


@pytest.mark.parametrize(
    ("name", "damage", "sentence"),
    [
        ("perf_stats.csv", cut, "perf_stats.csv, line 2, is damaged"),
        ("perf_stats.csv", overwrite, "perf_stats.csv is damaged"),
        ("configs.json", lambda path: path.write_text("{"), "configs.json is damaged"),
        ("configs.json", lambda path: path.write_text("[]"), "configs.json is damaged"),
        ("configs.json", Path.unlink, "configs.json is damaged"),
    ],
)
def test_a_damaged_file_is_named(
    name: str, damage: Callable[[Path], None], sentence: str, run: Path
) -> None:
    damage(run / name)
    with pytest.raises(UserError, match=sentence):
        checked_rows(run)

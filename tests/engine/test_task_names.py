"""A capture's tasks in tables and lines: no two look alike, and no name is cut."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import captured_kernels as kernels
import pytest
import torch
from capture_files import CaptureFile

from engine.programs.labels import task_labels
from engine.programs.task_list import task_list
from engine.programs.task_table import (
    HEADS,
    ParameterNote,
    TaskSpace,
    cells,
    mark_texts,
    note_texts,
    task_rows,
)
from foundation.config import Config
from foundation.console import EscapingConsole
from foundation.errors import UserError
from kernels.captured.recorded import load_task
from kernels.captured.task_file import Capture, read_capture

LONG = "fused_add_rms_norm_forward_kernel_with_residual"


def launched(capture: CaptureFile, n: int, **more: object) -> None:
    """On tensors of one size, whatever part of them is used."""
    x = torch.zeros(4096)
    values = {"x": x, "y": x.clone(), "out": x.clone(), "n": n, "BLOCK": 64}
    capture.launch(kernels.add_kernel, [-(-n // 64)], {**values, **more})


@pytest.fixture
def read(tmp_path: Path) -> Capture:
    capture = CaptureFile(tmp_path / "a.capture")
    launched(capture, 4096)
    launched(capture, 1000)
    launched(capture, 1000, BLOCK=128)
    x = torch.zeros(64)
    values = {"x": x, "out": x.clone(), "n": 64, "BLOCK": 64}
    for name in ("first", "other"):
        qualname = f"{LONG}_{name}"
        capture.launch(kernels.total_kernel, [1], values, qualname=qualname, launches=20)
    return read_capture(capture.path)


def test_labels_have_what_tells_tasks_apart(read: Capture) -> None:
    labels = set(task_labels(read.tasks).values())
    add = "add 4096 fp32"
    sums = {f"{LONG}_first 64 fp32", f"{LONG}_other 64 fp32"}
    assert labels == {f"{add} n=4096 BLOCK=64", f"{add} n=1000 BLOCK=64"} | sums | {
        f"{add} n=1000 BLOCK=128"
    }


def test_a_list_of_warps_alone_hides_no_block(read: Capture) -> None:
    """As torch.compile makes it of a kernel of the program's own."""
    options = Config({"num_warps": 4})
    task = dataclasses.replace(read.tasks[0], options=options, configurations=(options,))
    assert task.deployed == {"BLOCK": task.constants["BLOCK"], "num_warps": 4}


def test_tasks_that_nothing_tells_apart_have_their_keys(tmp_path: Path) -> None:
    capture = CaptureFile(tmp_path / "a.capture")
    for digest in ("a", "b"):
        x = torch.zeros(64)
        values = {"x": x, "out": x.clone(), "n": 64, "BLOCK": 64}
        capture.launch(kernels.total_kernel, [1], values, digest=digest)
    labels = task_labels(read_capture(capture.path).tasks)
    assert labels == {key: f"total 64 fp32 {key[:8]}" for key in capture.keys}


@pytest.mark.parametrize("width", [80, 500])
def test_the_table_cuts_no_name(read: Capture, width: int) -> None:
    rows = task_rows(read, lambda task: None)
    texts = [dict(zip(HEADS, cells(row), strict=True)) for row in rows]
    assert len({(row["kernel"], row["sizes"], row["deployed"]) for row in texts}) == len(rows)
    file = io.StringIO()
    console = EscapingConsole(file=file, width=width)
    console.print(task_list(rows, console))
    out = file.getvalue()
    assert max(map(len, out.splitlines())) <= width
    assert "…" not in out
    assert all(row["task"] in out for row in texts)
    end = out.index("launches")  # of the column; the first line has the headings
    kernels_column = "".join(line[10:end].strip() for line in out.splitlines())
    assert f"{LONG}_other" in (out if width == 500 else kernels_column)


def test_a_reason_that_tasks_share_is_told_once(read: Capture) -> None:
    stays = ParameterNote("MODE=1", "stays", "it is no integer")
    varies = ParameterNote("BLOCK", "varies", "32, 64")
    first, second, *_ = read.tasks
    rows = task_rows(read, lambda t: TaskSpace(2, (varies, stays) if t is first else (stays,)))
    notes = {note: keys for keys, note in note_texts(rows)}
    assert notes["BLOCK varies: 32, 64"] == first.key[:8]
    assert notes["MODE=1 stays: it is no integer"].startswith(f"{first.key[:8]}, {second.key[:8]}")


@pytest.mark.parametrize(
    ("device", "launches", "time_s", "shown"),
    [
        ("host", 5, 5e-6, "5 us"),
        ("host", 4, 4e-6, "~ 4 us"),
        ("NVIDIA H100", 5, 5e-6, "< 5 us"),
        ("NVIDIA H100", 1, 5e-6, "< ~ 5 us"),
        ("NVIDIA H100", 5, 5e-3, "5 ms"),
    ],
)
def test_times_that_are_no_more_than_a_bound_or_a_guess_are_marked(
    tmp_path: Path, device: str, launches: int, time_s: float, shown: str
) -> None:
    capture = CaptureFile(tmp_path / "a.capture")
    x = torch.zeros(64)
    values = {"x": x, "out": x.clone(), "n": 64, "BLOCK": 64}
    capture.launch(kernels.total_kernel, [1], values, launches=launches)
    read = read_capture(capture.path)
    (task,) = read.tasks
    task = dataclasses.replace(task, device=device, timed_launches=launches, time_s=time_s)
    (row,) = rows = task_rows(dataclasses.replace(read, tasks=(task,)), lambda task: None)
    assert cells(row)[HEADS.index("time")] == shown
    assert [text[0] for text in mark_texts(rows)] == [mark for mark in "<~" if mark in shown]


def test_a_task_is_named_by_the_digits_that_the_table_shows_or_by_its_kernel(
    tmp_path: Path,
) -> None:
    capture = CaptureFile(tmp_path / "a.capture")
    launched(capture, 4096)
    launched(capture, 1000)
    x = torch.zeros(64)
    capture.launch(kernels.total_kernel, [1], {"x": x, "out": x.clone(), "n": 64, "BLOCK": 64})
    for key in capture.keys:
        for name in (key, key[:8]):
            assert load_task(capture.path, name).task.key == key
    assert load_task(capture.path, "total_kernel").task.key == capture.keys[-1]
    for name, count in (("add_kernel", "2 tasks"), ("total", "no task"), ("", "3 tasks")):
        with pytest.raises(UserError, match=f"has {count} {name}: .* lists the keys$"):
            load_task(capture.path, name)

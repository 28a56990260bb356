"""Captured kernels that write where they have read: contents that were drawn may not fit."""

from __future__ import annotations

import runpy

import pytest
from captured_programs import HEAD, written

import engine
import triton_rvv
from kernels.captured.examination import examine_here
from kernels.captured.examined import read_examined
from kernels.captured.task_file import read_capture

COMPACTION = """
@triton.jit
def compact_kernel(x, starts, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.load(x + at, mask=at < n, other=-1.0) > 0
    place = tl.load(starts + tl.program_id(0)) + tl.cumsum(keep.to(tl.int32), 0) - 1
    tl.store(out + place, at, mask=keep)

x = torch.randn(20_000, generator=torch.Generator().manual_seed(7))
counts = torch.nn.functional.pad(x, (0, -len(x) % 4096)).view(-1, 4096).gt(0).sum(1)
out = torch.empty(int(counts.sum()) + 2 * FAR, dtype=torch.int32)[: int(counts.sum())]
compact_kernel[(len(counts),)](x, counts.cumsum(0) - counts + FAR, out, len(x), BLOCK=4096)
"""


@pytest.mark.parametrize(
    ("keeps", "far", "is_refused"),
    [(False, 0, True), (True, 0, False), (True, 100_000, True)],
    ids=["drawn", "kept", "kept, and far outside"],
)
def test_to_keep_the_data_is_advised_where_drawn_contents_do_not_fit(
    tmp_path, keeps, far, is_refused
):
    triton_rvv.activate("host")
    path = written(tmp_path, COMPACTION, f"{HEAD}\nFAR = {far}\n")
    capture = tmp_path / "program.capture"
    with engine.capture(capture, keep_data=keeps):
        runpy.run_path(str(path), run_name="__main__")
    (task,) = read_capture(capture).tasks
    examine_here(capture, task.key, widens=False)
    refusal = read_examined(capture)[task.key].refusal
    assert bool(refusal) is is_refused
    assert ("capture with --keep-data" in refusal) is not keeps

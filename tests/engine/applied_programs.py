"""Programs with Triton kernels that run with winners, for tests of apply."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
from pathlib import Path

from captured_programs import written

import engine
import triton_rvv
from engine.programs.applied import Applied
from foundation.config import Config
from kernels.captured.task_file import append_winner, read_capture
from kernels.captured.winner import Winner

# Tells which block a launch was compiled with.
SHOWN = """
import torch, triton, triton.language as tl, sys

@triton.jit
def shown_kernel(out, n, BLOCK: tl.constexpr, OTHER: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, at * 0 + BLOCK + 1000000 * OTHER, mask=at < n)

def show(n, block=64, other=0, numbers=False):
    out = torch.zeros(n, dtype=torch.int32)
    grid = (triton.cdiv(n, block),) if numbers else lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    shown_kernel[grid](out, n, BLOCK=block, OTHER=other)
    return out.unique().tolist()
"""


def add_winners(
    path: Path,
    config: dict[str, int],
    grid: tuple[str, str, str] | None = None,
    loads: dict[str, tuple[int, ...]] | None = None,
    device: str = "host",
    but: str = "",
    untold: tuple[str, ...] = (),
    tied: bool = False,
) -> None:
    """Give each task of a capture this winner, but for the one of that key."""
    for task in read_capture(path).tasks:
        if task.key == but:
            continue
        winner = Winner(
            task=task.key,
            config=Config(config),
            grid=grid,
            deployed_time_s=2e-3,
            time_s=1e-3,
            is_estimated=False,
            device=device,
            device_kind="host" if device == "host" else "board",
            study="s",
            loads=loads or {},
            untold=untold,
            tied=tied,
        )
        append_winner(path, winner)


def captured_here(folder: Path, body: str, head: str = SHOWN) -> None:
    """As `captured_programs.captured`, but in this process, whose kernels run on its processor."""
    triton_rvv.activate("host")
    with engine.capture(folder / "program.capture"):
        runpy.run_path(str(written(folder, body, head)), run_name="__main__")


def applied_here(folder: Path, body: str, head: str = SHOWN) -> tuple[str, str]:
    """What a program prints with the winners, and what is said about them, in this process."""
    triton_rvv.activate("host")
    path, capture = written(folder, body, head), folder / "program.capture"
    with contextlib.redirect_stdout(io.StringIO()) as printed, engine.apply(capture):
        runpy.run_path(str(path), run_name="__main__")
    uses = json.loads(capture.read_text().splitlines()[-1])["uses"]
    return printed.getvalue(), "\n".join(str(Applied(**use)) for use in uses)

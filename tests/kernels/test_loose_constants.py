"""Which blocks may reach behind other sizes, of kernels that torch.compile wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from capture_files import CaptureFile

from engine.programs.loose import loose_constants
from foundation.config import Config
from kernels.captured.task_file import read_capture
from kernels.captured.winner import Winner

MASKED = "xmask = xindex < xnumel"


@triton.jit
def generated(in_ptr0, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tl.store(out_ptr0 + xindex, tl.load(in_ptr0 + xindex, xmask), xmask)


@pytest.mark.parametrize(
    ("line", "is_generated", "is_loose"),
    [
        (MASKED, True, True),
        (MASKED, False, False),  # what a person calls xmask may be for something else
        ("xmask = tl.full([XBLOCK], True, tl.int1)[:]", True, False),
        ("ymask = yindex < ynumel", True, False),
        ("xnumel = 4096", True, True),
    ],
)
def test_a_mask_or_a_fixed_size_in_the_text_lets_a_block_reach_behind(
    tmp_path: Path, line: str, is_generated: bool, is_loose: bool
) -> None:
    file = CaptureFile(tmp_path / "program.capture")
    values = {"in_ptr0": torch.ones(4096), "out_ptr0": torch.ones(4096), "xnumel": 4096}
    key = file.launch(
        *(generated, [16], {**values, "XBLOCK": 256}),
        is_generated=is_generated,
        source=generated.src.replace(MASKED, line),
    )
    grid = ("cdiv(xnumel, XBLOCK)", "1", "1")
    winner = Winner(key, Config({"XBLOCK": 1024}), grid, 2.0, 1.0, False, "host", "host", "one")
    (found,) = loose_constants(replace(read_capture(file.path), every_winner=(winner,))).values()
    assert found == ({"XBLOCK"} if is_loose else set())

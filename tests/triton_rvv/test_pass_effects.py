"""benchmarks/compiler/pass_effects.py goes on where a configuration fails, and names it."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "compiler"
KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def doubled(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rows = tl.load(x_ptr + at[:, None] * 4 + tl.arange(0, 4)[None, :], mask=at[:, None] < N)
    tl.store(y_ptr + at, tl.sum(rows, 1), mask=at < N)

def get_doubled_autotune_config():
    return [triton.Config({"BLOCK": block}) for block in BLOCKS]

def arguments(N=64):
    return {"x_ptr": torch.randn(N, 4), "y_ptr": torch.empty(N), "N": N}

def grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)

def reference(x_ptr):
    return {"y_ptr": x_ptr.sum(1)}
"""


@pytest.mark.parametrize(("blocks", "failing"), [((16, 3), 3), ((3, 16), 3)])
def test_a_configuration_that_does_not_build_is_named_in_its_row(
    blocks: tuple[int, ...], failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    script = importlib.import_module("pass_effects")
    (tmp_path / "doubled.py").write_text(KERNEL.replace("BLOCKS", str(blocks)))
    row = script._drawn_row(str(tmp_path / "doubled.py"))
    effects = script.effects_of(row)
    (sentence,) = effects.failed
    assert sentence.startswith(f"BLOCK={failing} does not build: ")
    assert effects.fastest
    assert bool(effects.default) == (blocks[0] != failing)
    assert script._row_line(effects).endswith(sentence)

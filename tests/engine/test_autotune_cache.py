"""An unchanged kernel under `@triton.autotune` starts with a study's winner, without measuring."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine import find as find_command
from engine.run.identity import identity_of
from engine.search import Search
from engine.study.location import DEFAULT_STORAGE
from engine.study.storage import open_study
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board

KERNEL = '''\
"""A vector plus a multiple of another."""
import torch
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"BLOCK_SIZE": size}, num_warps=8) for size in (256, 32, 1024)],
    key=["n_elements"],
)
@triton.jit
def axpy_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, 2.5 * x + y, mask=mask)


def arguments(n_elements=5000, dtype=torch.float32):
    x, y = torch.randn(n_elements).to(dtype), torch.randn(n_elements).to(dtype)
    return {"x_ptr": x, "y_ptr": y, "output_ptr": torch.empty_like(x), "n_elements": n_elements}


def grid(meta):
    return (triton.cdiv(meta["n_elements"], meta["BLOCK_SIZE"]),)


def reference(x_ptr, y_ptr):
    return {"output_ptr": 2.5 * x_ptr + y_ptr}
'''

PROGRAM = """\
import json
import sys
import torch
import triton_rvv
triton_rvv.activate("host")
import axpy

for size in map(int, sys.argv[1:]):
    values = axpy.arguments(size)
    axpy.axpy_kernel[axpy.grid](*values.values())
    wanted = 2.5 * values["x_ptr"] + values["y_ptr"]
    torch.testing.assert_close(values["output_ptr"], wanted)
    print(json.dumps(axpy.axpy_kernel.best_config.kwargs))
"""


def run_program(folder: Path, cache: Path, *sizes: int) -> list[str]:
    """What the program and Triton print: a line when Triton measures, one for each size."""
    settings = {
        "TRITON_CACHE_AUTOTUNING": "1",
        "TRITON_PRINT_AUTOTUNING": "1",
        "TRITON_CACHE_DIR": str(cache),
    }
    done = subprocess.run(
        [sys.executable, "program.py", *map(str, sizes)],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def write_study(kernel: str, fastest: int) -> None:
    """A study of all blocks, of which the fastest one is not measured to be so."""
    problem, info = make_problem(load_kernel(kernel), {}), load_board("host").info
    space = problem.space(info)
    trials = open_study(DEFAULT_STORAGE, identity_of(problem, info, "random"), space)
    search = Search(space, "random", trials=trials)
    for config in iter(search.ask, None):
        search.tell(config, 1e-3 if config["BLOCK_SIZE"] == fastest else 2e-3)


def test_a_program_starts_with_the_winner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cache = tmp_path / "triton"
    monkeypatch.setattr("triton.knobs.cache.dir", str(cache))
    (tmp_path / "axpy.py").write_text(KERNEL)
    (tmp_path / "program.py").write_text(PROGRAM)
    asked = ["axpy.py", "--shape", "n_elements=5000", "--device", "host"]
    write_study("axpy.py", fastest=32)
    assert find_command.main([*asked, "--autotune-cache", "--json"]) == 0
    out, err = capsys.readouterr()
    path = Path(err.strip().removeprefix("autotune cache: "))
    assert path.parents[1] == cache
    assert path.name == "axpy_kernel.autotune.json"
    assert json.loads(out)["config"] == {"BLOCK_SIZE": 32}
    first, *others = run_program(tmp_path, cache, 5000, 4000)
    assert json.loads(first) == {"BLOCK_SIZE": 32}
    # Another shape is not in the file.
    assert any("Autotuning kernel" in line for line in others)


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        ("vector_add", "vector_add is not under @triton.autotune"),
        ("plain.py", "not under @triton.autotune"),
        ("axpy.py", "nothing is tuned for axpy"),
    ],
)
def test_what_cannot_be_written_is_said(
    kernel: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.winners.autotune_cache import write_autotune_cache
    from foundation.errors import UserError

    monkeypatch.chdir(tmp_path)
    (tmp_path / "axpy.py").write_text(KERNEL)
    without = KERNEL.replace("@triton.autotune(", "def unused(*_, **__): ...\n\n\nunused(")
    (tmp_path / "plain.py").write_text(without.replace("axpy_kernel", "plain_kernel"))
    with pytest.raises(UserError, match=says):
        write_autotune_cache(kernel, {})

"""Any callable is tuned: compiled in the process that measures, checked, timed, and looked up."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import engine
from engine.results.paste import winner_to_use
from engine.run.checked_file import checked_file
from engine.winners.tuned_callable import TunedCallable
from engine.workers import callable_board
from engine.workers.callable_board import python_info
from engine.workers.callables import CallableArtifact
from foundation.config import Config
from foundation.errors import UserError
from kernels.on_device import ProblemArguments
from kernels.registry import load_kernel, make_problem

CHUNKS = '''\
"""Sums of products in chunks."""
import os
from pathlib import Path

import torch

update_on_change = ("N",)


def configurations():
    return [{"chunk": chunk} for chunk in (64, 8, 512, 1, 2, 4)]


def compiled_key(config, N):
    return config["chunk"], N


def arguments(M=8, N=512):
    return {"a": torch.randn(M, N), "b": torch.randn(M, N), "out": torch.empty(M)}


def reference(a, b):
    return {"out": (a.double() * b.double()).sum(1)}


def build(config, N):
    chunk = config["chunk"]
    if chunk == 1:
        raise ValueError("no chunks of 1")
    with open(Path(__file__).with_name("builds.txt"), "a") as log:
        log.write(f"{chunk} {N}\\n")

    def run(a, b, out):
        if chunk == 2:
            os.kill(os.getpid(), 9)
        out.zero_()
        for first in range(0, N - N % 3 if chunk == 4 else N, chunk):
            part = slice(first, first + chunk)
            out.add_((a[:, part] * b[:, part]).sum(1))
        if chunk == 4:
            out[0] += 1

    return run
'''


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "chunks.py"
    path.write_text(CHUNKS)
    return path


def test_a_callable_is_tuned_and_looked_up(file: Path, ray_for_tests: None) -> None:
    result = engine.tune(file, device="python", trials=6, jobs=1)
    trials = result.trials
    assert dict(zip(trials["chunk"], trials["status"], strict=True)) == {
        64: "correct",
        8: "correct",
        512: "correct",
        1: "runtime",
        2: "runtime",
        4: "wrong",
    }
    assert result.summary.winner is not None
    assert "triton" not in winner_to_use(result, result.summary.winner.config)
    tuned = TunedCallable(file)
    a, b, out = torch.randn(8, 512), torch.randn(8, 512), torch.empty(8)
    (file.parent / "builds.txt").unlink()
    tuned(a, b, out, M=8, N=512)
    torch.testing.assert_close(out, (a * b).sum(1))
    assert tuned.found is not None
    assert tuned.found.config == result.summary.winner.config
    # M asks for no other winner, and the compiled callable serves it too.
    tuned(a[:4], b[:4], out[:4], M=4, N=512)
    assert tuned.found.wanted.shape == {"M": 8, "N": 512}
    assert len((file.parent / "builds.txt").read_text().splitlines()) == 1
    tuned(a[:, :500], b[:, :500], out, M=8, N=500)
    assert tuned.found.how == "nearest"
    torch.testing.assert_close(out, (a[:, :500] * b[:, :500]).sum(1))


def test_inputs_that_the_check_leaves_are_told_with_the_reason(file: Path) -> None:
    file.write_text(CHUNKS.replace("def reference(a, b)", "def reference(a, b, config)"))
    problem = make_problem(load_kernel(str(file)), {})
    (note,) = checked_file(problem, python_info("python"), lambda _: None)
    assert "the file's own inputs, since arguments or reference takes config: what these do" in note


def test_what_it_changes_and_the_reference_does_not_name_is_told(file: Path) -> None:
    file.write_text(
        CHUNKS.replace("        out.zero_()", "        out.zero_()\n        b.neg_().neg_()")
    )
    problem = make_problem(load_kernel(str(file)), {})
    assert checked_file(problem, python_info("python"), lambda _: None) == ()
    file.write_text(
        CHUNKS.replace(
            "            out.add_(", "            a[0, part] += 0.5\n            out.add_("
        )
    )
    problem = make_problem(load_kernel(str(file)), {})
    (note, *_) = checked_file(problem, python_info("python"), lambda _: None)
    assert note == (
        "reference does not name a, which the callable changes: it is not checked; give in "
        "reference what outputs should be, and None for scratch memory"
    )


@pytest.mark.long
def test_a_hang_is_a_timeout_and_the_next_is_measured(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callable_board, "_GRACE_S", 0.0)
    file.write_text(CHUNKS.replace("os.kill(os.getpid(), 9)", "__import__('time').sleep(1000)"))
    source = ProblemArguments.of(make_problem(load_kernel(str(file)), {}))
    board = callable_board.CallableBoard("python")
    board.open()
    try:
        for chunk, limit_s, status in ((8, 100, "correct"), (2, 1, "timeout"), (8, 100, "correct")):
            artifact = CallableArtifact(source, Config({"chunk": chunk}))
            assert board.measure(artifact, 1, limit_s).status == status
    finally:
        board.close()


def test_callables_and_kernels_have_their_own_devices(file: Path) -> None:
    with pytest.raises(UserError, match=r"chunks is a callable.*give --device python"):
        engine.tune(file, device="host", trials=1, jobs=1)
    with pytest.raises(UserError, match="vector_add is a Triton kernel"):
        engine.tune("vector_add", device="python", trials=1, jobs=1)
    assert not list(file.parent.rglob("*.journal"))  # no study was begun

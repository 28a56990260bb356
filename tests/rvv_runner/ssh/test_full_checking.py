"""A full check over SSH: the page is measured by the board's clock, and a core is made of it."""

from __future__ import annotations

import os

import pytest

from rvv_runner.board import BoardError
from rvv_runner.calibration.check_probes import PROBES
from rvv_runner.calibration.family_page import read_page
from rvv_runner.calibration.shared_probes import shared_probes
from rvv_runner.full_check import full_check
from rvv_runner.ssh.board import SshBoard
from rvv_runner.usage import split_usage


@pytest.fixture(autouse=True)
def two_processors():
    """Leaves two processors to the sshd that is started, whatever the machine has."""
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("needs two processors")
    os.sched_setaffinity(0, sorted(before)[:2])
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture
def checked(board_file, tmp_path, monkeypatch):
    """Runs a full check of the test's board; returns its lines."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def load(name):
        from rvv_runner.devices import load_board

        board, usage = split_usage(name)
        if board != "desk":
            return load_board(name)
        return SshBoard("desk", board_file, patience_s=0, usage=usage)

    monkeypatch.setattr("rvv_runner.full_check.load_board", load)
    monkeypatch.setattr("rvv_runner.calibration.family_page._ITERATIONS", 400)

    def check() -> list[str]:
        lines: list[str] = []
        full_check("desk", "mine", tmp_path / "mine.json", lines.append)
        return lines

    return check


def test_a_page_is_measured_over_ssh(checked, tmp_path):
    told = "\n".join(checked())
    page = read_page(tmp_path / "mine.json")
    assert page is not None
    shared = {probe.name for count in (1, 2) for probe in shared_probes(count)}
    assert set(page.cycles) == {probe.name for probe in PROBES} | shared, page.reasons
    # QEMU without a model has no caches: it must not pass for the core itself.
    assert "times: of qemu-riscv64, which runs the programs there, and not of a core" in told
    assert "software prefetches: " in told
    assert f"send {tmp_path / 'mine.json'} to those who tune for such a board" in told
    assert "mine.json --write mine makes the same core" in told
    assert (tmp_path / "config/triton-rvv-tuner/boards/mine.toml").exists()
    # The machine has fewer processors than the board should.
    assert "it has too few processors for 4 cores, since it can use" in page.reasons["4 cores"]
    assert "note    4 cores: " in told


def test_a_board_that_goes_away_ends_the_check(checked, tmp_path, monkeypatch):
    from rvv_runner.failure import failed
    from rvv_runner.ssh.board import SshBoard

    def lost(self, artifact, repeats, timeout_s):
        return failed("board", self.info, "the connection was lost")

    monkeypatch.setattr(SshBoard, "measure", lost)
    with pytest.raises(BoardError, match="the connection was lost"):
        checked()
    assert not (tmp_path / "mine.json").exists()

"""A cluster of three Ray nodes that share no file system: it tunes, loses nodes, and ends right."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cluster import Cluster, cluster

from engine.study.storage import read_studies

# Three nodes take a minute to start, so this is for the long form.
pytestmark = pytest.mark.long

TRIALS = 12


@pytest.fixture
def three_nodes(tmp_path: Path) -> Iterator[Cluster]:
    tuner = tmp_path / "tuner"
    tuner.mkdir()
    # pytest's folders have names too long for Ray's sockets.
    with TemporaryDirectory(prefix="c-") as short, cluster(Path(short), hidden=tuner) as made:
        yield made


def tune(nodes: Cluster, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "engine.tune", "vector_add", "--trials", str(TRIALS)]
    return subprocess.Popen(
        [*command, "--jobs", "3", "--ray-address", nodes.address, *arguments],
        cwd=folder,
        env={**os.environ, "RAY_AUTH_MODE": "disabled"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def trials_until(process: subprocess.Popen[str], count: int) -> None:
    """Wait until so many trials are told of."""
    assert process.stdout is not None
    assert process.stderr is not None
    for line in process.stdout:
        if line.startswith(f"trial={count}/"):
            return
    raise AssertionError(process.stderr.read())


def test_it_tunes_loses_a_node_and_ends_right(three_nodes: Cluster, tmp_path: Path) -> None:
    process = tune(three_nodes, tmp_path / "tuner")
    trials_until(process, 3)
    three_nodes.others[0].kill()
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    (study,) = read_studies(str(tmp_path / "tuner" / "studies" / "tuner.journal"))
    trials = list(study.changes())
    assert [trial.status for trial in trials if trial.has_outcome] == ["correct"] * TRIALS
    places = {where for trial in trials for what, where, _, _ in trial.spans if what == "build"}
    assert any(" on " in place for place in places), places
    elfs = {str(trial.attributes["elf_path"]) for trial in trials if trial.has_outcome}
    assert all(Path(elf).is_file() for elf in elfs)
    assert f"tried: {TRIALS} correct" in out or "winner" in out


def test_boards_of_other_machines_measure_and_one_is_lost(
    three_nodes: Cluster, tmp_path: Path
) -> None:
    process = tune(three_nodes, tmp_path / "tuner", "--device", "emulated@a,emulated@b")
    trials_until(process, 3)
    three_nodes.others[0].kill()
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, out + err
    (study,) = read_studies(str(tmp_path / "tuner" / "studies" / "tuner.journal"))
    trials = [trial for trial in study.changes() if trial.has_outcome]
    assert [trial.status for trial in trials] == ["correct"] * TRIALS
    places = {where for trial in trials for what, where, _, _ in trial.spans if what == "measure"}
    assert {place.split(" ")[0] for place in places} <= {"emulated@a", "emulated@b"}
    assert any(place.startswith("emulated@b") for place in places)
    assert "board=emulated@a" in out + err  # the lost one is told of


def test_without_its_head_a_run_ends_in_a_sentence_and_is_resumed(
    three_nodes: Cluster, tmp_path: Path
) -> None:
    process = tune(three_nodes, tmp_path / "tuner")
    trials_until(process, 3)
    three_nodes.head.kill()
    out, err = process.communicate(timeout=200)
    assert process.returncode == 2, out + err
    assert "no longer answers" in err
    assert "Traceback" not in err
    (study,) = read_studies(str(tmp_path / "tuner" / "studies" / "tuner.journal"))
    before = {str(trial.config) for trial in study.changes() if trial.has_outcome}
    assert len(before) >= 3
    hidden = tmp_path / "tuner"
    with TemporaryDirectory(prefix="c-") as short, cluster(Path(short), hidden) as another:
        out, err = tune(another, hidden).communicate(timeout=200)
    told = [line for line in out.splitlines() if line.startswith("trial=")]
    assert len(told) == TRIALS - len(before), out + err
    (study,) = read_studies(str(tmp_path / "tuner" / "studies" / "tuner.journal"))
    assert sum(trial.has_outcome for trial in study.changes()) == TRIALS

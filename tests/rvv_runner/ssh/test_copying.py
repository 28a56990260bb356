"""The scripts of a folder for tuning by hand copy it to a board and its results back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import engine.by_hand

SCRIPTS = Path(engine.by_hand.__file__).parent
NAME = "it's $(touch trapped) here"


def test_the_folder_travels_and_only_results_come_back(server, tmp_path):
    tree, remote = tmp_path / "tree", tmp_path / "board of mine"
    (tree / "run" / "bin").mkdir(parents=True)
    (tree / "run" / "bin" / NAME).write_text("an executable")
    remote.mkdir()
    where = f"{server.user}@127.0.0.1:{remote}"
    done = copy("transfer_to_remote.py", tree, server, where)
    assert done.returncode == 0, done.stderr
    assert (remote / "run" / "bin" / NAME).read_text() == "an executable"
    assert not list(tmp_path.rglob("trapped"))

    (remote / "run" / "perf").mkdir()
    (remote / "run" / "perf" / "perf_stats.csv").write_text("results")
    done = copy("report_to_host.py", tree, server, f"{where}/run")
    assert done.returncode == 0, done.stderr
    assert (tree / "run" / "perf" / "perf_stats.csv").read_text() == "results"
    assert f"next: python -m engine.collect {tree}" in done.stdout


def test_a_board_is_asked_for():
    for name in ("transfer_to_remote.py", "report_to_host.py"):
        done = subprocess.run(
            [sys.executable, "-I", str(SCRIPTS / name)],
            capture_output=True,
            check=False,
            timeout=200,
        )
        assert done.returncode == 2
        assert b"USER@HOST:FOLDER" in done.stdout


def copy(name, tree, server, where):
    (tree / name).write_text((SCRIPTS / name).read_text())
    options = ["-P", str(server.port), "-i", str(server.home / ".ssh" / "id_ed25519")]
    options += ["-F", "none", "-o", f"UserKnownHostsFile={server.known_hosts}"]
    return subprocess.run(
        [sys.executable, "-I", str(tree / name), *options, where],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )

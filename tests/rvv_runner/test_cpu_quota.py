"""Quotas of containers and services, as control groups of both versions show them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from rvv_runner import cpu_quota
from rvv_runner.cpu_quota import quota_cores, times_throttled
from rvv_runner.host import HostBoard
from rvv_runner.host_conditions import HostWatch

STAT = "nr_periods 9\nnr_throttled {}\nthrottled_time 5\n"
VERSION_2 = {
    "cpu.stat": "usage_usec 1\n",
    "a/cpu.stat": STAT.format(3),
    "a/cpu.max": "150000 100000\n",
    "a/b/cpu.stat": STAT.format(4),
    "a/b/cpu.max": "max 100000\n",
}
VERSION_1 = {
    "cpu,cpuacct/a/b/cpu.stat": STAT.format(7),
    "cpu,cpuacct/a/b/cpu.cfs_quota_us": "150000\n",
    "cpu,cpuacct/a/b/cpu.cfs_period_us": "100000\n",
    "cpu,cpuacct/cpu.stat": STAT.format(0),
    "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
    "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
}
LINES_1 = "12:memory:/a/b\n4:cpu,cpuacct:/a/b\n2:cpuset:/\n"


def shown(
    monkeypatch: pytest.MonkeyPatch, folder: Path, own: str, files: Mapping[str, str]
) -> None:
    """Let control groups be these files."""
    for name, text in {
        "own": own,
        **{f"groups/{name}": text for name, text in files.items()},
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(cpu_quota, "_OWN", folder / "own")
    monkeypatch.setattr(cpu_quota, "_GROUPS", folder / "groups")


@pytest.mark.parametrize(
    ("own", "files", "cores", "times"),
    [
        ("0::/a/b\n", VERSION_2, 1.5, 7),
        (LINES_1, VERSION_1, 1.5, 7),
        # The container is the top here, and its name is one outside it.
        ("0::/outside/it\n", {"cpu.stat": STAT.format(2), "cpu.max": "200000 100000"}, 2.0, 2),
        ("0::/\n", {}, math.inf, 0),
        ("", {}, math.inf, 0),
    ],
)
def test_the_least_quota_of_all_groups_counts(monkeypatch, tmp_path, own, files, cores, times):
    shown(monkeypatch, tmp_path, own, files)
    assert (quota_cores(), times_throttled()) == (cores, times)


def test_a_run_that_a_quota_held_up_is_disturbed_and_told_before(monkeypatch, tmp_path):
    shown(monkeypatch, tmp_path, "0::/a\n", {"a/cpu.stat": STAT.format(3), "a/cpu.max": "5 10"})
    assert "leaves it the time of 0.5 processors" in HostBoard().notes[1]
    watch = HostWatch(range(1000))  # so that other programs may take as many of them as they do
    (tmp_path / "groups/a/cpu.stat").write_text(STAT.format(5))
    watch.stop()
    assert watch.doubt.startswith(
        "its container or service used up its quota of processor time 2 t"
    )

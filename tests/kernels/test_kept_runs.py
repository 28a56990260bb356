"""What runs of a kernel left is kept: each is run once, by one process at a time."""

from __future__ import annotations

import resource
import threading

import pytest
import torch

from kernels.own import kept_runs as kept
from kernels.own.kept_runs import is_slow, keep_slow, kept_outputs, kept_runs


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


class Doubling:
    """Runs that double y, and count themselves."""

    def __init__(self, starts):
        self.starts = starts
        self.done: list[int] = []
        self.may_end = threading.Event()
        self.may_end.set()

    def __call__(self, numbers):
        assert self.may_end.wait(20)
        self.done += numbers
        return [{**self.starts[n], "y": 2 * self.starts[n]["y"]} for n in numbers]


def starts_of(*numbers):
    return [{"x": torch.arange(3), "y": torch.tensor([float(n), float("nan")])} for n in numbers]


def test_each_run_is_made_once(cache):
    run = Doubling(starts_of(1, 2))
    first, second = kept_runs("job", run.starts, run)
    assert first["y"][0] == 2
    assert run.done == [0, 1]
    again = Doubling(starts_of(2, 3))
    one, other = kept_runs("job", again.starts, again)
    assert again.done == [1]
    assert one["y"][0] == second["y"][0] == 4
    assert other["y"][0] == 6
    assert torch.equal(one["x"], torch.arange(3))  # though it is in no file
    equal = Doubling(starts_of(5, 5))
    assert [float(after["y"][0]) for after in kept_runs("job", equal.starts, equal)] == [10, 10]
    assert equal.done == [0]


def test_another_job_and_another_view_of_the_same_numbers_run_again():
    for job, change in [("a", torch.clone), ("b", torch.clone), ("a", lambda y: y.view(1, 2))]:
        starts = [{"y": change(torch.ones(2))}]
        run = Doubling(starts)
        kept_runs(job, starts, run)
        assert run.done == [0]


def test_who_asks_for_what_another_is_running_waits_for_it():
    runs = [Doubling(starts_of(1)), Doubling(starts_of(1))]
    runs[0].may_end.clear()
    threads = [threading.Thread(target=kept_runs, args=("job", run.starts, run)) for run in runs]
    threads[0].start()
    threads[1].start()
    threads[1].join(0.05)
    runs[0].may_end.set()
    for thread in threads:
        thread.join(20)
    assert sum(len(run.done) for run in runs) == 1


def test_who_has_waited_long_runs_it_as_well(monkeypatch):
    monkeypatch.setattr(kept, "_PATIENCE_S", 0.01)
    runs = [Doubling(starts_of(1)), Doubling(starts_of(1))]
    runs[0].may_end.clear()
    first = threading.Thread(target=kept_runs, args=("job", runs[0].starts, runs[0]))
    first.start()
    kept_runs("job", runs[1].starts, runs[1])
    assert runs[1].done == [0]
    runs[0].may_end.set()
    first.join(20)


def test_where_nothing_can_be_kept_all_run(monkeypatch, cache):
    (cache / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "file"))
    run = Doubling(starts_of(1))
    for _ in range(2):
        assert kept_runs("job", run.starts, run)[0]["y"][0] == 2
    assert run.done == [0, 0]


@pytest.mark.parametrize("room", [100, 2000])
def test_where_no_file_has_room_all_run(cache, room):
    run = Doubling([{"y": torch.ones(10_000)}])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)  # as on a full disk, an error of torch's
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        keep_slow("job")
        after = kept_runs("job", run.starts, run)[0]
        outputs = kept_outputs("job", run.starts[0], lambda: after)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert after["y"][0] == outputs["y"][0] == 2
    assert not list((cache / "triton-rvv-tuner" / "runs").glob(".new-*"))


def test_a_damaged_file_runs_again(cache):
    run = Doubling(starts_of(1))
    kept_runs("job", run.starts, run)
    (file,) = (cache / "triton-rvv-tuner" / "runs").glob("*.pt")
    file.write_bytes(b"none")
    kept_runs("job", run.starts, run)
    file.write_bytes(file.read_bytes()[:100])
    assert kept_runs("job", run.starts, run)[0]["y"][0] == 2
    assert run.done == [0, 0, 0]


def test_the_oldest_go_where_there_are_too_many(monkeypatch, cache):
    monkeypatch.setattr(kept, "_MOST_KEPT_BYTES", 4000)
    for number in range(8):
        run = Doubling(starts_of(number))
        kept_runs("job", run.starts, run)
    left = sum(f.stat().st_size for f in (cache / "triton-rvv-tuner" / "runs").glob("*.pt"))
    assert 0 < left <= 4000
    last = Doubling(starts_of(0, 7))
    kept_runs("job", last.starts, last)
    assert last.done == [0]


def test_what_is_slow_is_remembered_for_a_day(monkeypatch):
    assert not is_slow("job")
    keep_slow("job")
    assert is_slow("job")
    with monkeypatch.context() as later:
        later.setattr(kept, "_SLOW_FOR_S", 0.0)
        assert not is_slow("job")
    assert not is_slow("another")

"""`engine.capture`: launches of this process."""

from __future__ import annotations

import collections
import contextlib
import importlib.util
import math
import sys
import threading
import time
from typing import ClassVar

import pytest
import torch
from captured_programs import check_large, written
from torch.utils._python_dispatch import TorchDispatchMode
from triton.compiler.errors import CompilationError

import engine
import triton_rvv
from foundation.errors import UserError
from kernels.captured.task import Recorded
from kernels.captured.task_file import is_capture_file, read_capture
from triton_rvv.launches import timing
from triton_rvv.launches.capture_file import begin_capture_file
from triton_rvv.launches.recorder import Recorder


def imported(path):
    """A program's module in this process, on its processor."""
    triton_rvv.activate("host")
    spec = importlib.util.spec_from_file_location("captured_here", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["captured_here"] = module
    spec.loader.exec_module(module)
    return module


def test_within_this_process(tmp_path):
    path = written(tmp_path, "y = torch.randn(100000) * 3 + 10")
    module = imported(path)
    with engine.capture(tmp_path / "here"):
        module.add(module.x, module.x)
    module.add(module.x, module.x)
    (task,) = read_capture(tmp_path / "here").tasks
    assert task.launches == 1
    assert is_capture_file(tmp_path / "here")
    with pytest.raises(UserError, match="is no capture"), engine.capture(path):
        pass
    with engine.capture(tmp_path / "kept", keep_data=True):
        module.add(module.y, module.y)
    check_large(read_capture(tmp_path / "kept").tasks[0], Recorded)


def test_one_capture_after_another(tmp_path, monkeypatch):
    monkeypatch.setattr(timing, "_SHORT_S", math.inf)  # most launches are not looked at
    module = imported(written(tmp_path, ""))
    for launches in (1000, 700):
        with engine.capture(tmp_path / "here"):
            for _ in range(launches):
                module.add(module.x, module.x)
        assert [task.launches for task in read_capture(tmp_path / "here").tasks] == [launches]


def test_what_a_killed_capture_replaced_is_not_lost(tmp_path):
    """Such a command leaves the earlier file beside the one that it has begun."""
    module = imported(written(tmp_path, ""))
    path, before = tmp_path / "here", tmp_path / "here.before"
    with engine.capture(path):
        module.add(module.x, module.x)
    earlier = path.read_text()
    path.rename(before)
    begin_capture_file(path)
    with engine.capture(path):
        pass  # launches nothing, so that the earlier file comes back
    assert path.read_text() == earlier
    assert not before.exists()
    path.rename(before)
    with engine.capture(path):
        module.add(module.x, module.x, block=128)
    assert [task.constants["BLOCK"] for task in read_capture(path).tasks] == [128]
    assert not before.exists()


def test_a_launch_that_raises_is_no_task(tmp_path):
    module = imported(written(tmp_path, ""))
    out = torch.empty_like(module.x)
    with engine.capture(tmp_path / "here"):
        for _ in range(2):  # no power of two
            with pytest.raises(CompilationError):
                module.add(module.x, module.x, block=63)
        for size in (0, 4, 4):  # the function of the grid raises at first
            with contextlib.suppress(ZeroDivisionError):
                module.add_kernel[lambda meta, size=size: (16 // size,)](
                    module.x, module.x, out, 1000, BLOCK=256
                )
    (task,) = read_capture(tmp_path / "here").tasks
    assert task.constants["BLOCK"] == 256
    assert task.launches == 2


def test_operators_that_launch_kernels_are_not_called_to_describe_a_launch(tmp_path):
    module = imported(written(tmp_path, "y = torch.randn(100000)\nout = torch.empty_like(y)"))
    y = module.y

    class Replaced(TorchDispatchMode):
        """As where a package has put kernels in the place of torch's operators."""

        called: ClassVar[set[str]] = set()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.called.add(func.overloadpacket.__name__)
            module.add_kernel[(1,)](y, y, module.out, 64, BLOCK=32)
            return func(*args, **kwargs or {})

    with engine.capture(tmp_path / "here"), Replaced():
        module.add_kernel[(1,)](y, y, module.out, 64, BLOCK=64)
    (task,) = read_capture(tmp_path / "here").tasks
    assert task.constants["BLOCK"] == 64
    assert Replaced.called <= {"detach", "empty", "set_", "slice"}  # none of which computes


def test_a_capture_that_disappears_does_not_hurt(tmp_path, capfd):
    module = imported(written(tmp_path, ""))
    with engine.capture(tmp_path / "gone"):
        module.add(module.x, module.x)
        (tmp_path / "gone").unlink()
        assert torch.equal(module.add(module.x, module.x, block=32), 2 * module.x)
    assert capfd.readouterr().err.count("no longer recorded") == 1


def test_most_short_launches_are_counted_without_being_looked_at(tmp_path, monkeypatch):
    """To look at one takes longer than a short kernel."""
    looked_at = 0

    def counted(self, launch, run, look=Recorder.launch):
        nonlocal looked_at
        looked_at += 1
        return look(self, launch, run)

    monkeypatch.setattr(Recorder, "launch", counted)
    monkeypatch.setattr(timing, "_SHORT_S", math.inf)  # on a busy machine, too
    module = imported(written(tmp_path, ""))
    with engine.capture(tmp_path / "here"):
        for _ in range(5000):
            module.add(module.x, module.x)
    assert [task.launches for task in read_capture(tmp_path / "here").tasks] == [5000]
    assert 256 < looked_at < 1000


@pytest.mark.long
def test_a_hundred_thousand_launches_of_two_threads_are_counted_exactly(tmp_path, monkeypatch):
    monkeypatch.setattr(timing, "_SHORT_S", math.inf)  # on a busy machine, too
    module = imported(written(tmp_path, ""))
    kernel = module.add_kernel[(1,)]

    def launch() -> None:
        x, out = torch.ones(8), torch.empty(8)
        for _ in range(50_000):
            kernel(x, x, out, 8, BLOCK=8)

    with engine.capture(tmp_path / "here"):
        threads = [threading.Thread(target=launch) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    path = tmp_path / "here"
    assert [task.launches for task in read_capture(path).tasks] == [100_000]
    assert path.stat().st_size < 100_000  # a task, and its times now and then


def test_a_kernel_on_this_machine_is_timed_apart_from_its_launch(tmp_path, monkeypatch):
    module = imported(written(tmp_path, ""))
    module.add(module.x, module.x)  # compiled
    looks: collections.Counter[int] = collections.Counter()

    def thread_time():
        """A second later each time that a thread looks."""
        looks[threading.get_ident()] += 1
        return float(looks[threading.get_ident()])

    monkeypatch.setattr(time, "thread_time", thread_time)
    with engine.capture(tmp_path / "here"):
        for _ in range(4):
            module.add(module.x, module.x)
    (task,) = read_capture(tmp_path / "here").tasks
    assert (task.launches, task.timed_launches) == (4, 3)
    assert task.time_s == pytest.approx(4.0)

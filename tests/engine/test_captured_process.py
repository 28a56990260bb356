"""`rvv-tune capture`: the program runs and ends as it does without."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import pytest
from capture_files import CaptureFile
from captured_programs import HEAD, captured, run_command, written
from command_here import run_here

from engine.programs import watched
from engine.programs.watched import host_target, on_ended, run_watched
from kernels.captured.task_file import read_capture
from triton_rvv.launches.process import watched_environment


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGSEGV, marks=pytest.mark.long)]
)
def test_a_program_that_is_killed_ends_as_without(tmp_path, number):
    body = f"for _ in range(400): add(x, x); time.sleep(0.002)\nos.kill(os.getpid(), {int(number)})"
    path = written(tmp_path, body)
    out = tmp_path / "program.capture"
    run_command("capture", "-o", out, "--", sys.executable, path, status=-number)
    held = read_capture(out)
    assert 1 < held.tasks[0].launches <= 400


def test_interrupt(tmp_path):
    path = written(tmp_path, "add(x, x)\nprint('ready', flush=True)\ntime.sleep(600)")
    command = [sys.executable, "-m", "engine", "capture", "-o", str(tmp_path / "c"), "--"]
    with subprocess.Popen(
        [*command, sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        try:
            assert process.wait(200) != 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert read_capture(tmp_path / "c").tasks[0].launches == 1


def test_forks_threads_and_other_processes(tmp_path):
    body = """
import multiprocessing
def work(times):
    for _ in range(times): add(x, x)
if __name__ == "__main__" and len(sys.argv) == 1:
    work(1)
    if os.fork() == 0:
        work(60); os._exit(0)
    os.wait()
    child = multiprocessing.get_context("fork").Process(target=work, args=(100,))
    child.start(); child.join()
    with multiprocessing.get_context("fork").Pool(1) as pool: pool.map(work, [300])
    threads = [threading.Thread(target=work, args=(200,)) for _ in range(2)]
    [t.start() for t in threads]; [t.join() for t in threads]
    subprocess.run([sys.executable, __file__, "again"], check=True)
elif len(sys.argv) > 1:
    work(500)
"""
    held = captured(tmp_path, body)
    (task,) = held.tasks
    # Threads may count a few short launches twice.
    assert task.launches == pytest.approx(1 + 60 + 100 + 300 + 400 + 500, abs=40)
    assert len(held.commands) == 5


@pytest.mark.long
def test_torch_says_that_there_is_triton(tmp_path):
    asked = "from torch.utils._triton import has_triton\nprint(has_triton())\n"
    path = written(tmp_path, asked, head="")
    done = run_command("capture", "-o", tmp_path / "x.capture", "--", sys.executable, path)
    assert done.stdout == "True\n"


@pytest.mark.long
def test_a_capture_that_cannot_be_written_does_not_hurt_the_program(tmp_path):
    path = tmp_path / "program.capture"
    body = f"add(x, x)\nos.remove({str(path)!r})\nadd(x, x, block=32)\nprint('end')"
    words = ["capture", "-o", path, "--", sys.executable, written(tmp_path, body)]
    done = run_command(*words, status=2)
    assert done.stdout == "end\n"
    assert done.stderr.count("no longer recorded") == 1


def test_mistakes(tmp_path, monkeypatch):
    def said(name, *words, status=2):
        done = run_here(tmp_path, name, *map(str, words))
        assert done.returncode == status
        return done.stderr

    out = tmp_path / "a"
    assert "after --" in said("capture", "-o", out)
    assert "no-such-program" in said("capture", "-o", out, "--", "no-such-program")
    out.write_text("mine")
    assert "is no capture" in said("capture", "-o", out, "--", sys.executable, "-c", "")
    assert out.read_text() == "mine"
    assert "is not a capture" in said("tasks", out)
    words = ["capture", "-o", "b", "--", sys.executable, "-c", "print(1)"]
    assert "no Triton kernel was launched; nothing was written to b\n" in said(*words, status=0)
    assert ("is_cuda" in said(*words, status=0)) == (host_target() is not None)
    assert not (tmp_path / "b").exists()
    assert "holds no launch" in said("tasks", CaptureFile(tmp_path / "c").path)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert "interpreter run kernels, so unset it" in said(*words, status=0)


@pytest.mark.long
@pytest.mark.parametrize("how", ["before triton", "after triton", "registered"])
def test_flag_gems_needs_no_register(tmp_path, how):
    """By a stand-in that looks for a GPU's maker as FlagGems does when it is imported."""
    package = tmp_path / "flag_gems"
    (package / "runtime" / "backend").mkdir(parents=True)
    (package / "runtime" / "common.py").write_text(
        "class vendors:\n    get_all_vendors = staticmethod(lambda: {'nvidia': 'nvidia'})\n"
    )
    (package / "runtime" / "backend" / "__init__.py").write_text(
        "from types import SimpleNamespace\n"
        "backend_utils = SimpleNamespace(VendorInfoBase=SimpleNamespace)\n"
        "get_tune_config = get_heuristic_config = dict\n"
        "device_name = None\n"
    )
    (package / "runtime" / "__init__.py").write_text(
        "import os\n"
        "from flag_gems.runtime import backend, common\n"
        "vendor = os.environ.get('GEMS_VENDOR', 'no device was found')\n"
        "common.vendors.get_all_vendors()[vendor]\n"
    )
    (package / "__init__.py").write_text(
        "from flag_gems import runtime\ndevice = runtime.backend.device_name\n"
    )
    body = "import importlib.util\nassert importlib.util.find_spec('flag_gems')\n"
    body += "import flag_gems\nassert flag_gems.device == 'cpu'\nadd(x, x)"
    if how == "registered":
        body = "import triton_rvv.flag_gems as gems\ngems.register()\n" + body
    head = f"import flag_gems\n{HEAD}" if how == "before triton" else HEAD
    assert len(captured(tmp_path, body, head).tasks) == 1
    if how == "before triton":  # and as `run --compare` runs it without winners
        environment = watched_environment(os.environ, {}, "host")
        command = [sys.executable, str(tmp_path / "program.py")]
        subprocess.run(command, env=environment, check=True, timeout=200)


@pytest.mark.skipif(host_target() is None, reason="a GPU answers by itself")
def test_a_program_may_say_that_there_is_a_gpu(tmp_path):
    head = f"import torch\ntorch.cuda.is_available = lambda: True\n{HEAD}"
    body = "assert torch.cuda.get_device_name()\nwith torch.cuda.device(x.device.index): add(x, x)"
    assert len(captured(tmp_path, body, head).tasks) == 1


ENDS = """
@triton.jit
def ends_kernel(x, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x + (1 << 40) + at, tl.load(x + at))

tuned = triton.autotune([triton.Config({"B": b}) for b in (32, 64)], key=["n"])(ends_kernel)
"""


@pytest.mark.parametrize(
    "launch",
    [
        pytest.param("ends_kernel[(1,)](x, 9, B=32)", marks=pytest.mark.long),
        "tuned[(1,)](x, 9)",
    ],
)
def test_a_kernel_that_ends_its_program_is_named(tmp_path, launch):
    path = written(tmp_path, f"{ENDS}\n{launch}")
    words = ["capture", "-o", tmp_path / "a", "--", sys.executable, path]
    done = run_command(*words, status=-signal.SIGSEGV)
    assert "ends_kernel was running when SIGSEGV ended its process: TRITON_RVV" in done.stderr
    assert "no Triton kernel was launched" not in done.stderr


def test_how_a_program_ended():
    assert on_ended(128 + signal.SIGKILL, "k") == "k was running when SIGKILL ended its process"
    assert on_ended(0, "k") == "k was running when its process ended"


def test_a_long_program_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr(watched, "_TELL_EVERY_S", 0.01)
    times_s: list[float] = []
    assert run_watched(["sleep", "0.1"], {}, times_s.append) == 0
    assert times_s == sorted(times_s)
    assert len(times_s) >= 2

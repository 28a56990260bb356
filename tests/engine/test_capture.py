"""`rvv-tune capture` on programs that do what programs do."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from captured_programs import HEAD, OWN_TUNER, captured, run_command, written
from command_here import run_here
from torch.utils._python_dispatch import TorchDispatchMode
from triton.compiler.errors import CompilationError

import engine
import triton_rvv
from engine.programs.captured import capture_program
from foundation.errors import UserError
from kernels.captured.drawn import Drawn
from kernels.captured.task import Recorded, Scalar, Task
from kernels.captured.task_file import is_capture_file, read_capture
from triton_rvv.launches.process import watched_environment

# Small tensors twice, with another constant, and one that is too large to be kept.
PLAIN = """
for _ in range(5): add(x, x)
add(x, x, block=128)
y = torch.randn(100000) * 3 + 10
add(y, y, block=256)
"""
AUTOTUNED = """
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def scale_kernel(x, out, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

scale_kernel = triton.autotune([triton.Config({"BLOCK": b}) for b in (32, 64)], key=["n"])(
    scale_kernel)

def make():
    @triton.autotune([triton.Config({"BLOCK": b}) for b in (32, 64)], key=["n"])
    @triton.jit
    def inner_kernel(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
    return inner_kernel

@triton.jit
def own_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
own_kernel = OwnTuner(own_kernel, [triton.Config({"BLOCK": b}) for b in (32, 64)])

bits = triton.reinterpret(x.view(torch.int32), tl.float32)
for kernel, given in ((scale_kernel, x), (make(), x), (own_kernel, bits)):
    for _ in range(3):
        kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](given, torch.empty_like(x), 1000)
"""
# A package that starts compiled kernels itself.
ENTRY = """
@triton.jit
def negate_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, -tl.load(x + at, mask=at < n), mask=at < n)

class Entry:
    def __init__(self, fn): self.fn, self.compiled = fn, None
    def run(self, *args, grid, BLOCK):
        if self.compiled is None:
            self.compiled = self.fn[grid](*args, BLOCK=BLOCK)
        else:
            self.compiled[grid](*args)
entry = Entry(negate_kernel)
out = torch.empty_like(x)
for _ in range(7): entry.run(x, out, 1000, grid=(16, 1, 1), BLOCK=64)
"""
NUMPY = """
import numpy
n, step, factor = numpy.int64(1000), numpy.int32(1), numpy.float32(2)

@triton.jit
def numbers_kernel(x, out, n, step, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at * step, tl.load(x + at * step, mask=at < n) * factor, mask=at < n)

numbers_kernel[(16,)](x, torch.empty_like(x), n, step, factor, BLOCK=64)
"""
# Other integers each time, as seeds are.
SEEDS = """
@triton.jit
def noise_kernel(out, seed, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.rand(seed, at))

out = torch.empty(64)
for seed in range(6): noise_kernel[(1,)](out, seed, BLOCK=64)
"""
MANY = "for _ in range(2_000): add(x[:8], x[:8], block=16)\n"
# In its environment and beside it is what may be in the way, and it fails in the end.
SURROUNDED = "import kernels, engine, foundation\nassert kernels.mine and engine.mine\n"
FAILING = "assert os.environ['SEEN'] == 'yes'\nraise ValueError('no')\n"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture of a program that several tests look at."""
    folder = tmp_path_factory.mktemp("plain")
    for name in ("kernels", "engine", "foundation"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("mine = True\n")
    (folder / "sitecustomize.py").write_text("import os\nos.environ['SEEN'] = 'yes'\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        body = SURROUNDED + PLAIN + OWN_TUNER + AUTOTUNED + ENTRY + NUMPY + SEEDS + MANY + FAILING
        captured(folder, body, status=1)
    return folder / "program.capture"


def by_name(path: Path) -> dict[str, Task]:
    return {task.kernel.name: task for task in read_capture(path).tasks}


def by_block(path: Path) -> dict[object, Task]:
    tasks = read_capture(path).tasks
    return {task.constants["BLOCK"]: task for task in tasks if task.kernel.name == "add_kernel"}


def test_a_plain_kernel(plain):
    tasks = by_block(plain)
    first = tasks[64]
    assert {block: task.launches for block, task in tasks.items()} == {
        64: 5,
        128: 1,
        256: 1,
        16: 2_000,
    }
    assert first.kernel.name == "add_kernel"
    assert first.kernel.source.startswith("def add_kernel")
    assert "def add(x, y" in first.kernel.module_source
    assert first.arguments["n"] == Scalar("i32", 1000)
    assert first.constants == {"BLOCK": 64}
    assert dict(first.deployed) == {"BLOCK": 64}
    assert first.is_grid_callable
    assert first.grid == (16, 1, 1)
    assert {16: (63, 1, 1), 128: (8, 1, 1)}.items() <= {
        s.changed["BLOCK"]: s.grid for s in first.grid_samples
    }.items()
    assert 0 < first.time_s < 5
    assert first.device == "host"


def test_arguments_that_share_memory_do_so_again(plain):
    task = by_block(plain)[64]
    one, other, out = (task.tensors[name] for name in ("x", "y", "out"))
    assert one.storage == other.storage != out.storage
    values = task.values()
    assert values["x"].data_ptr() == values["y"].data_ptr()
    assert torch.equal(values["x"], torch.arange(1000, dtype=torch.float32))


@pytest.mark.long
def test_slices_of_one_tensor_keep_their_places(tmp_path):
    body = "z = torch.arange(64.0).reshape(8, 8)\nadd_kernel[(1,)](z[0], z[2:, 1], z, 6, BLOCK=8)"
    body += "\nadd_kernel[(1,)](z[1], torch.ones(8), torch.ones(8), 6, BLOCK=8)"
    task, alone = sorted(captured(tmp_path, body).tasks, key=lambda task: len(task.storages))
    values = task.values()
    assert torch.equal(values["y"], torch.arange(64.0).reshape(8, 8)[2:, 1])
    assert values["y"].stride() == (8,)
    assert not task.is_grid_callable
    assert (alone.storages[0].front, alone.storages[0].elements) == (8, 64)
    assert torch.equal(alone.values()["x"], torch.arange(8.0, 16.0))


def test_large_tensors_are_drawn(plain):
    check_large(by_block(plain)[256], Drawn)


def check_large(task, contents):
    assert isinstance(task.storages[task.tensors["x"].storage].contents, contents)
    values = task.values()["x"]
    assert values.shape == (100000,)
    assert abs(values.mean() - 10) < 0.1
    assert abs(values.std() - 3) < 0.1


@pytest.mark.long
def test_large_tensors_are_kept_where_that_is_asked_for(plain, tmp_path):
    """And a kernel has the same key in every run."""
    path = tmp_path / "kept.capture"
    program = [sys.executable, str(written(tmp_path, PLAIN))]
    assert capture_program(program, path, keep_data=True) == 0
    drawn, kept = by_block(plain), by_block(path)
    check_large(kept[256], Recorded)
    assert {task.key for task in kept.values()} == {drawn[block].key for block in kept}


@pytest.mark.long
def test_the_key_does_not_depend_on_addresses(tmp_path):
    body = "a, b = torch.zeros(64), torch.ones(64)\nadd_kernel[(1,)](a, b, a, 64, BLOCK=64)\n"
    (task,) = captured(tmp_path, body + "add_kernel[(1,)](b, a, b, 64, BLOCK=64)").tasks
    assert task.launches == 2


@pytest.mark.long
def test_the_program_is_as_without(tmp_path):
    path = written(tmp_path, "print('out', sys.argv[1:], float(add(x, x).sum()))\nsys.exit(7)")
    done = run_command(
        "capture", "-o", tmp_path / "c", "--", sys.executable, path, "-o", "b", status=7
    )
    assert done.stdout == "out ['-o', 'b'] 999000.0\n"
    assert "captured 1 kernel, 1 task, 1 launch," in done.stderr


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
    path = written(tmp_path, "add(x, x)\nprint('ready', flush=True)\ntime.sleep(60)")
    command = [sys.executable, "-m", "engine", "capture", "-o", str(tmp_path / "c"), "--"]
    with subprocess.Popen(
        [*command, sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        process.wait(200)
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
    threads = [threading.Thread(target=work, args=(200,)) for _ in range(2)]
    [t.start() for t in threads]; [t.join() for t in threads]
    subprocess.run([sys.executable, __file__, "again"], check=True)
elif len(sys.argv) > 1:
    work(500)
"""
    held = captured(tmp_path, body)
    (task,) = held.tasks
    # Threads may count a few short launches twice.
    assert task.launches == pytest.approx(1 + 60 + 100 + 400 + 500, abs=40)
    assert len(held.commands) == 4


def test_many_launches_are_counted_exactly(plain):
    """Of a program that fails in the end, beside packages named like ours."""
    task = by_block(plain)[16]
    assert task.launches == 2_000
    assert 0 < task.time_s < 100


@pytest.mark.long
def test_a_launch_with_ever_new_numbers_stays_a_few_tasks(tmp_path):
    held = captured(tmp_path, "for n in range(1, 200): add(x[:n], x[:n])")
    assert len(held.tasks) == 32
    assert sum(task.launches for task in held.tasks) == 199


def test_seeds_and_steps_are_a_few_tasks(plain):
    """One for each time that the number has doubled, and one each for 0 and 1."""
    tasks = [one for one in read_capture(plain).tasks if one.kernel.name == "noise_kernel"]
    seeds = {task.values()["seed"]: task.launches for task in tasks}
    assert seeds == {0: 1, 1: 1, 2: 3, 5: 1}
    assert all(task.timed_launches for task in tasks)


def test_autotuners_benchmarks_do_not_count(plain):
    tasks = by_name(plain)
    for task in (tasks["scale_kernel"], tasks["inner_kernel"], tasks["own_kernel"]):
        assert task.launches == 3
        assert {config["BLOCK"] for config in task.configurations} == {32, 64}
        assert task.deployed["BLOCK"] in (32, 64)
        is_own = task.kernel.name == "own_kernel"
        assert task.autotune_key == (() if is_own else ("n",))
        assert ("OwnTuner" if is_own else "Autotuner") in task.wrappers
    assert tasks["scale_kernel"].heuristics == ("EVEN",)


def test_a_tensor_whose_elements_are_read_as_another_type(plain):
    assert by_name(plain)["own_kernel"].tensors["x"].dtype == "fp32"


def test_a_package_that_starts_compiled_kernels(plain):
    task = by_name(plain)["negate_kernel"]
    assert task.launches == 7
    assert task.constants == {"BLOCK": 64}


def test_numbers_of_numpy(plain):
    task = by_name(plain)["numbers_kernel"]
    assert task.arguments["n"] == Scalar("i32", 1000)
    assert task.arguments["factor"] == Scalar("fp32", 2.0)
    assert task.sizes[-2:] == (1000, 1)


@pytest.mark.long
def test_a_backward_pass(tmp_path):
    body = """
@triton.jit
def grad_kernel(g, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(g + at, mask=at < n) * 2, mask=at < n)

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return add(x, x)
    @staticmethod
    def backward(ctx, g):
        out = torch.empty_like(g)
        grad_kernel[(1,)](g, out, g.numel(), BLOCK=1024)
        return out

x.requires_grad_()
Twice.apply(x).sum().backward()
"""
    tasks = captured(tmp_path, body).tasks
    assert {task.kernel.name for task in tasks} == {"add_kernel", "grad_kernel"}
    grad = next(task for task in tasks if task.kernel.name == "grad_kernel")
    assert grad.tensors["g"].strides == (0,)  # of a sum, the gradient is one element


@pytest.mark.long
def test_torch_compile(tmp_path):
    body = """
import triton_rvv.inductor
triton_rvv.inductor.register()
f = torch.compile(lambda x: torch.relu(x * 2 + 1).sum(-1))
y = torch.randn(50, 64)
for _ in range(4): f(y)
"""
    (task,) = captured(tmp_path, body).tasks
    assert task.kernel.is_generated
    assert task.launches == 4
    assert f"def {task.kernel.name}" in task.kernel.module_source
    assert task.kernel.name.startswith("triton_")


@pytest.mark.long
def test_torch_says_that_there_is_triton(tmp_path):
    asked = "from torch.utils._triton import has_triton\nprint(has_triton())\n"
    path = written(tmp_path, asked, head="")
    done = run_command("capture", "-o", tmp_path / "x.capture", "--", sys.executable, path)
    assert done.stdout == "True\n"


@pytest.mark.long
def test_what_cannot_be_recorded_is_said_and_runs(tmp_path):
    body = """
y = torch.zeros(8, dtype=torch.complex64)
try: add(y, y)
except Exception: pass
add(x, x)
"""
    held = captured(tmp_path, body)
    assert len(held.tasks) == 1
    said = "its argument x is of a kind that no capture holds: elements of torch.complex64"
    assert held.unrecorded["__main__.add_kernel"] == said


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
    nothing = tmp_path / "b"
    words = ["capture", "-o", nothing, "--", sys.executable, "-c", "print(1)"]
    assert "no Triton kernel was launched" in said(*words, status=0)
    assert "holds no launch" in said("tasks", nothing)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert "interpreter run kernels, so unset it" in said(*words, status=0)


@pytest.mark.long
def test_a_torn_line_is_passed_over(tmp_path):
    path = tmp_path / "program.capture"
    held = captured(tmp_path, "add(x, x)")
    path.write_bytes(path.read_bytes() + b'\n{"record": "times", "key"')
    again = read_capture(path)
    assert again.dropped_lines == 1
    assert again.tasks == held.tasks


def test_tasks_are_listed(plain, tmp_path):
    listed = run_here(tmp_path, "tasks", str(plain)).stdout
    assert "add_kernel" in listed
    assert "BLOCK=64" in listed
    assert re.search(r"Of the time of these kernels: in [\d.]+% there is something to try", listed)


@pytest.mark.long
def test_tasks_are_shown(plain, tmp_path):
    page = tmp_path / "page.html"
    assert run_here(tmp_path, "tasks", str(plain), "--html", str(page)).returncode == 0
    assert "add_kernel" in page.read_text()


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


@pytest.mark.long
def test_overhead_of_short_launches(tmp_path):
    body = """
x = x[:64]
add(x, x)
for _ in range(1000): add(x, x)
start = time.process_time()
for _ in range(100_000): add(x, x)
print(time.process_time() - start)
"""
    path = written(tmp_path, body, HEAD)

    def time_s(*words):
        done = subprocess.run(
            [*words, sys.executable, str(path)],
            env={**os.environ, "TRITON_RVV_TARGET": "host"},
            capture_output=True,
            text=True,
            check=True,
        )
        return float(done.stdout)

    command = [sys.executable, "-m", "engine", "capture", "-o", str(tmp_path / "c"), "--"]
    plain, watched = (min(time_s(*words) for _ in range(5)) for words in ([], command))
    assert watched < 1.1 * plain
    assert [task.launches for task in read_capture(tmp_path / "c").tasks] == [101_001]


@pytest.mark.gpu
def test_on_a_gpu(tmp_path):
    body = """
x, y = torch.ones(100_000, device="cuda"), torch.ones(100_000, device="cuda")
for _ in range(1000): add(x, y)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph): add(x[:4096], y[:4096])
graph.replay()
torch.cuda.synchronize()
"""
    most, graphed = captured(tmp_path, body).tasks
    assert most.launches == 1000
    assert 1e-6 < most.time_s / most.launches < 1e-3
    assert most.target.startswith(("cuda", "hip"))
    assert graphed.time_s is None
    assert graphed.storages[0].contents is None


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

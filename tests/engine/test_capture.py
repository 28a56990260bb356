"""`rvv-tune capture` on programs that do what programs do."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import pytest
import torch
from captured_programs import OWN_TUNER, captured, check_large, run_command, written
from command_here import run_here

from engine.programs.captured import capture_program
from kernels.captured.drawn import Drawn
from kernels.captured.recorded import RecordedTask
from kernels.captured.task import Recorded, Task
from kernels.captured.task_file import read_capture
from kernels.captured.task_values import Scalar

# Small tensors twice, with another constant, and one that is too large to be kept.
PLAIN = """
for _ in range(5): add(x, x)
add(x, x, block=128)
y = torch.randn(100000) * 3 + 10
add(y, y, block=256)
"""
AUTOTUNED = """
@triton.heuristics(
    {"EVEN": lambda args: args["n"] % args["BLOCK"] == 0, "num_warps": lambda args: 4})
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
# Other integers each time, as seeds are, and numbers of warps, which do nothing on a processor.
SEEDS = """
@triton.jit
def noise_kernel(out, seed, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.rand(seed, at))

out = torch.empty(64)
for seed in range(6): noise_kernel[(1,)](out, seed, BLOCK=64, num_warps=2 ** (seed // 3))
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
    assert {8: (125, 1, 1), 16: (63, 1, 1), 128: (8, 1, 1)}.items() <= {
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


def test_seeds_and_numbers_of_warps_are_one_task(plain):
    """And one each for 0 and 1, of which Triton may make constants."""
    tasks = [one for one in read_capture(plain).tasks if one.kernel.name == "noise_kernel"]
    seeds = {task.values()["seed"]: task.launches for task in tasks}
    assert seeds == {0: 1, 1: 1, 2: 4}
    assert all(task.timed_launches for task in tasks)


def test_the_line_that_launches_is_none_of_triton_or_of_a_decorator(plain):
    lines = (plain.parent / "program.py").read_text().splitlines()
    launching = {"noise_kernel": "noise_kernel[(1,)]"} | dict.fromkeys(
        ("scale_kernel", "inner_kernel", "own_kernel"), "kernel[lambda meta"
    )
    for name, text in launching.items():
        file, _, line = by_name(plain)[name].launched_at.rpartition(":")
        assert file == str(plain.parent / "program.py")
        assert text in lines[int(line) - 1]


def test_autotuners_benchmarks_do_not_count(plain):
    tasks = by_name(plain)
    for task in (tasks["scale_kernel"], tasks["inner_kernel"], tasks["own_kernel"]):
        assert task.launches == 3
        assert {config["BLOCK"] for config in task.configurations} == {32, 64}
        assert task.deployed["BLOCK"] in (32, 64)
        is_own = task.kernel.name == "own_kernel"
        assert task.autotune_key == (() if is_own else ("n",))
        assert ("OwnTuner" if is_own else "Autotuner") in task.wrappers
    assert tasks["scale_kernel"].heuristics == ("EVEN", "num_warps")


def test_heuristics_give_options_that_are_no_constants(plain):
    task = RecordedTask(by_name(plain)["scale_kernel"], plain)
    assert task.derived(task.deployed.constants) == {"EVEN": False}


def test_a_task_is_another_with_other_heuristics(plain):
    task = by_name(plain)["scale_kernel"]

    def digest(source):
        kernel = dataclasses.replace(task.kernel, module_source=source)
        return RecordedTask(dataclasses.replace(task, kernel=kernel), plain).digest

    source = task.kernel.module_source
    assert digest(f"{source}\n# a comment") == digest(source)
    assert digest(source.replace('% args["BLOCK"] == 0', '% args["BLOCK"] == 1')) != digest(source)


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
def test_a_torn_line_is_passed_over(tmp_path):
    path = tmp_path / "program.capture"
    held = captured(tmp_path, "add(x, x)")
    path.write_bytes(path.read_bytes() + b'\n{"record": "times", "key"')
    again = read_capture(path)
    assert again.dropped_lines == 1
    assert again.tasks == held.tasks


def test_tasks_are_listed(plain, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.programs.spaces._EXAMINED_SHARE", 1.0)  # short ones, too
    listed = run_here(tmp_path, "tasks", str(plain)).stdout
    assert "add_kernel" in listed
    assert "BLOCK=64" in listed
    notes = [line for line in listed.splitlines() if re.match("[0-9a-f]{8}[ ,]", line)]
    assert any("BLOCK varies: " in note for note in notes)
    assert max(map(len, notes)) <= 80
    assert re.search(r"Of these kernels' time, [\d.]+% can be tuned", listed)
    advice = "BLOCK=64 covers an axis: let a program take several rows"
    assert advice in " ".join(listed.split())
    page = plain / "page.html"  # a file is no folder
    refused = run_here(tmp_path, "tasks", str(plain), "--html", str(page))
    assert refused.returncode == 2
    assert f"{page} cannot be written" in refused.stderr


@pytest.mark.long
def test_tasks_are_shown(plain, tmp_path):
    page = tmp_path / "page.html"
    assert run_here(tmp_path, "tasks", str(plain), "--html", str(page)).returncode == 0
    assert "add_kernel" in page.read_text()


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

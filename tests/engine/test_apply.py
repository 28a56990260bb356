"""`rvv-tune run`: programs with winners, unchanged."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from applied_programs import SHOWN, add_winners, applied_here, captured_here
from captured_programs import OWN_TUNER, captured, run_command, written

from engine.programs.applied import run_program
from engine.programs.found import winners_text
from engine.programs.watched import program_words
from foundation.errors import UserError
from kernels.captured.task_file import read_capture

FOLLOWS = ("cdiv(n, BLOCK)", "1", "1")

# A kernel that is autotuned beside it.
AUTOTUNED = (
    SHOWN
    + OWN_TUNER
    + """
@triton.autotune([triton.Config({"BLOCK": b}) for b in (16, 32)], key=["n"])
@triton.jit
def tuned_kernel(out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, at * 0 + BLOCK, mask=at < n)

def show_tuned(n):
    out = torch.zeros(n, dtype=torch.int32)
    tuned_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out, n)
    return out.unique().tolist()

@triton.jit
def own_kernel(out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, at * 0 + BLOCK, mask=at < n)
own_kernel = OwnTuner(own_kernel, [triton.Config({"BLOCK": b}) for b in (16, 32)])

@triton.jit
def warm_kernel(out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, at * 0 + BLOCK, mask=at < n)

def show_warm(n):
    out = torch.zeros(n, dtype=torch.int32)
    compiled = warm_kernel.warmup(out, n, BLOCK=64, grid=(1,))
    compiled[(triton.cdiv(n, 64), 1, 1)](out, n, 64)
    return out.unique().tolist()

def show_own(n):
    out = torch.zeros(n, dtype=torch.int32)
    own_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out, n)
    return out.unique().tolist()
"""
)


def test_another_devices_winners_do_not_take_the_place_of_this_ones(shown, tmp_path):
    path = tmp_path / "program.capture"
    shutil.copy(shown, path)
    add_winners(path, {"BLOCK": 64}, device="emulated")
    read = read_capture(path)
    assert {winner.device for winner in read.winners.values()} == {"emulated"}
    assert read.foreign_devices == ["emulated"]
    for block in (128, 256):
        add_winners(path, {"BLOCK": block})
    add_winners(path, {"BLOCK": 32}, device="emulated")
    read = read_capture(path)
    assert {winner.config["BLOCK"] for winner in read.winners.values()} == {256}
    assert {winner.config["BLOCK"] for winner in read.every_winner} == {32, 256}
    assert not read.foreign_devices
    # Captured again, when the tasks were others: their winners stay in the file.
    assert not dataclasses.replace(read, tasks=()).foreign_devices


def test_python_is_this_one_where_no_environment_is_active(monkeypatch):
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    assert program_words(["--", "python", "x.py"]) == [sys.executable, "x.py"]
    monkeypatch.setenv("VIRTUAL_ENV", "/there")
    assert program_words(["--", "python3", "x.py"]) == ["python3", "x.py"]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture of a program that several tests apply winners to."""
    folder = tmp_path_factory.mktemp("shown")
    captured(folder, "show(1000); show_tuned(1000); show_own(1000); show_warm(1000)", AUTOTUNED)
    return folder / "program.capture"


def applied(tmp_path: Path, body: str, head: str = SHOWN) -> tuple[str, str]:
    """What a program prints with the winners, and what is said about them."""
    path = written(tmp_path, body, head)
    capture = tmp_path / "program.capture"
    done = run_command("run", "--with", capture, "--", sys.executable, path)
    return done.stdout, done.stderr


def test_a_winner_is_used_at_its_task_and_near_it(shown, tmp_path):
    shutil.copy(shown, tmp_path)
    add_winners(tmp_path / "program.capture", {"BLOCK": 256}, FOLLOWS)
    body = """
print(show(1000), show(4000), show(9000), show(1000, other=1), show(1000, block=32))
print(show_tuned(1000), show_tuned(2000), hasattr(tuned_kernel, 'bench_time'))
print(show_own(1000), own_kernel.times, show_warm(1000), show_warm(9000))
import multiprocessing
with multiprocessing.get_context("fork").Pool(1) as pool: pool.map(show_warm, [1000] * 30)
"""
    out, said = applied(tmp_path, body, AUTOTUNED)
    # Other constants are another launch, whatever the sizes. An autotuner measures nothing.
    assert out.splitlines() == [
        "[256] [256] [64] [1000064] [32]",
        "[256] [256] False",
        "[256] {} [256] [64]",
    ]
    assert "1 launch: BLOCK=256\n" in said
    assert (
        "31 launches: BLOCK=256\n" in said
    )  # with those of a process that its pool ends by a signal
    assert "tuned 4 doublings away" in said
    assert "since a size of its tensors differs by more than 8 times" in said
    assert "as the program has it, since it was tuned with other" in said


def test_a_kernel_with_a_winner_that_is_not_launched_is_named(shown, tmp_path):
    shutil.copy(shown, tmp_path)
    add_winners(tmp_path / "program.capture", {"BLOCK": 256}, FOLLOWS)
    out, said = applied(tmp_path, "print(show(1000))", AUTOTUNED)
    assert out == "[256]\n"
    unseen = [line.partition(":")[0] for line in said.splitlines() if "no launch of it was" in line]
    assert unseen == ["__main__.own_kernel", "__main__.tuned_kernel", "__main__.warm_kernel"]


def test_a_winner_that_does_not_compile_here_is_not_used(shown, tmp_path):
    shutil.copy(shown, tmp_path)
    add_winners(tmp_path / "program.capture", {"BLOCK": 3})
    out, said = applied_here(tmp_path, "print(show(1000), show_own(1000))", AUTOTUNED)
    assert out in ("[64] [16]\n", "[64] [32]\n")
    assert said.count("as the program has it, since its winner fails here: ") == 2
    assert "arange's range must be a power of 2" in said


def test_a_block_that_might_write_behind_the_tensors_of_other_sizes_is_not_used(tmp_path):
    unmasked = SHOWN.replace(", mask=at < n", "")
    for head, other in (unmasked, "[64]"), (SHOWN, "[256]"):
        captured_here(tmp_path, "show(1024)" if head is unmasked else "show(1000)", head)
        add_winners(tmp_path / "program.capture", {"BLOCK": 256}, FOLLOWS)
        body = "print(show(1024), show(1280), show(1088))"
        out, said = applied_here(tmp_path, body, head)
        assert out == f"[256] [256] {other}\n"
        assert ("nothing shows that the kernel has masks" in said) == (head is unmasked)


def test_a_block_that_changed_no_number_of_programs_is_used_at_its_size_alone(tmp_path):
    captured_here(tmp_path, "show(50)")
    for untold, other in ((), "[256]"), (("BLOCK",), "[64]"):
        add_winners(tmp_path / "program.capture", {"BLOCK": 256}, FOLLOWS, untold=untold)
        out, said = applied_here(tmp_path, "print(show(50), show(300), show(300, block=256))")
        assert out == f"[256] {other} [256]\n"
        assert ("it was tuned where BLOCK=256 has as many programs" in said) == bool(untold)


def test_a_tie_with_the_programs_own_configuration_is_told(tmp_path):
    captured_here(tmp_path, "show(1000)")
    capture = tmp_path / "program.capture"
    for tied in (False, True):
        add_winners(capture, {"BLOCK": 64}, FOLLOWS, tied=tied)
        _, said = applied_here(tmp_path, "print(show(1000))")
        found = winners_text(capture, "host")
        assert said.endswith("BLOCK=64, the program's own since nothing is clearly faster") == tied
        assert ("as deployed: nothing that was tried is known to be faster" in found) == tied
        assert ("2.00x the deployed speed" in found) != tied


@pytest.mark.long
@pytest.mark.parametrize(("columns", "is_used"), [(384, False), (100, True)])
def test_kernels_of_torch_compile_for_any_size_get_blocks_that_fit_all(tmp_path, columns, is_used):
    """Of 384 columns it writes no mask, since its own block divides them; of 100 it does."""
    head = "import torch, triton_rvv.inductor\ntriton_rvv.inductor.register()\n"
    body = "f = torch.compile(torch.nn.functional.silu)\nfor n in (64, 128):\n"
    body += f"    x = torch.ones(n, {columns})\n    torch._dynamo.mark_dynamic(x, 0)\n"
    body += "    print(f(x).sum())"
    captured(tmp_path, body, head)
    add_winners(tmp_path / "program.capture", {"XBLOCK": 8192}, ("cdiv(xnumel, XBLOCK)", "1", "1"))
    out, said = applied(tmp_path, body.replace("(64, 128)", "(64, 17)"), head)
    assert ("nothing shows that the kernel has masks" in said) != is_used
    assert ("winner of task" in said) == is_used
    assert out.count("tensor(") == 2


def test_a_changed_source_runs_as_it_is(shown, tmp_path):
    shutil.copy(shown, tmp_path)
    add_winners(tmp_path / "program.capture", {"BLOCK": 256})
    changed = SHOWN.replace("at * 0 + BLOCK", "BLOCK + at * 0")
    out, said = applied_here(tmp_path, "print(show(1000))", changed)
    assert out == "[64]\n"
    assert "its source has changed" in said


def test_a_package_that_starts_compiled_kernels_stays_right(tmp_path):
    body = """
out = torch.zeros(1000, dtype=torch.int32)
for step in range(3):
    if step == 0:
        compiled = shown_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](
            out, 1000, BLOCK=64, OTHER=0)
    else:
        out.zero_()
        compiled[(16, 1, 1)](out, 1000)
    print(out.unique().tolist())
"""
    captured_here(tmp_path, body)
    add_winners(tmp_path / "program.capture", {"BLOCK": 16})
    lines = applied_here(tmp_path, body)[0].splitlines()
    assert lines[0] == "[16]"
    assert all(line in ("[16]", "[64]") for line in lines)


@pytest.mark.long
def test_torch_compile_compiles_the_winner(tmp_path):
    head = "import torch, triton_rvv.inductor\ntriton_rvv.inductor.register()\n"
    body = "f = torch.compile(lambda x: torch.relu(x * 2 + 1))\n"
    body += "for _ in range(3): print(f(torch.ones(500)).sum())"
    held = captured(tmp_path, body, head)
    (task,) = held.tasks
    add_winners(tmp_path / "program.capture", {"XBLOCK": 32})
    _, said = applied(tmp_path, body, head)
    used = f"winner of task {task.key[:8]}, 3 launches: XBLOCK=32"
    uses = f"torch.compile: {task.kernel.name}: {used}"
    assert uses in said.splitlines()


@pytest.mark.long
def test_a_kernel_that_inductor_has_kept_compiled_gets_its_winner(tmp_path):
    head = "import gc, torch, engine, triton_rvv.inductor\ntriton_rvv.inductor.register()\n"
    body = "f = torch.compile(lambda x: torch.relu(x * 2 + 1))\nprint(f(torch.ones(500)).sum())"
    captured(tmp_path, body, head)
    add_winners(tmp_path / "program.capture", {"XBLOCK": 32})
    kept = """
from torch._inductor.runtime.triton_heuristics import CachingAutotuner
(kernel,) = [one for one in gc.get_objects() if issubclass(type(one), CachingAutotuner)]
function = kernel.fn.fn, kernel.fn.__globals__
kernel.prepare_for_pickle()
print(kernel.configs)
class Reloaded:
    fn = type(kernel.fn)(function[0])
with engine.apply("program.capture"):
    kernel.precompile(reload_kernel=Reloaded)
print(kernel.launchers[0].config.kwargs)
"""
    path = written(tmp_path, f"{body}\n{kept}", head)
    done = subprocess.run(
        [sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[1:] == ["None", "{'XBLOCK': 32}"], done.stderr


@pytest.mark.long
def test_compare_prints_the_speed_up(tmp_path):
    captured(tmp_path, "print(show(1000))", SHOWN)
    add_winners(tmp_path / "program.capture", {"BLOCK": 256})
    capture, path = tmp_path / "program.capture", tmp_path / "program.py"
    done = run_command("run", "--compare", "--with", capture, "--", sys.executable, path)
    assert done.stdout == "[256]\n"
    assert "5 of 5: without winners " in done.stderr
    assert "start, compiling and, without winners, autotuning: without winners " in done.stderr
    assert "speed-up" in done.stderr


@pytest.mark.long
def test_what_was_used_is_stored(tmp_path):
    captured(tmp_path, "show(1000)", SHOWN)
    path = tmp_path / "program.capture"
    with pytest.raises(UserError, match="holds no winner"):
        run_program([sys.executable, str(tmp_path / "program.py")], path)
    add_winners(path, {"BLOCK": 256})
    assert run_program([sys.executable, str(tmp_path / "program.py")], path) == 0
    assert '"record": "applied"' in path.read_text()
    assert len(read_capture(path).tasks) == 1


def test_within_this_process(shown, tmp_path):
    """With a source that has moved in its file; and nothing of it waits for Ray."""
    shutil.copy(shown, tmp_path)
    add_winners(tmp_path / "program.capture", {"BLOCK": 256})
    body = """
import engine, triton_rvv
triton_rvv.activate("host")
import pathlib
with engine.apply(pathlib.Path(__file__).with_name("program.capture")):
    print(show(1000))
print(show(1000))
engine.lookup, engine.tuned
print("ray" in sys.modules)
"""
    path = written(tmp_path, body, SHOWN.replace("@triton.jit", "# moved\n\n@triton.jit"))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "[256]\n[64]\nFalse\n"


# The kernel's own name leads to its heuristics alone.
APART = """
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def apart_kernel(out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, at * 0 + BLOCK, mask=at < n)

tuned_apart = triton.autotune([triton.Config({"BLOCK": b}) for b in (16, 32)], key=["n"])(
    apart_kernel)
out = torch.zeros(1000, dtype=torch.int32)
tuned_apart[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](out, 1000)
print(out.unique().tolist())
"""


def test_an_autotuner_with_a_name_of_its_own_gets_its_kernels_winner(tmp_path):
    captured_here(tmp_path, APART)
    (task,) = read_capture(tmp_path / "program.capture").tasks
    assert [config["BLOCK"] for config in task.listed] == [16, 32]
    for block in (16, 32):
        add_winners(tmp_path / "program.capture", {"BLOCK": block})
        out, uses = applied_here(tmp_path, APART)
        assert out == f"[{block}]\n"
        used = f"winner of task {task.key[:8]}, 1 launch: BLOCK={block}"
        assert uses == f"__main__.apart_kernel: {used}"


# Two kernels of one name.
FACTORY = """
def made(offset):
    OFFSET = tl.constexpr(offset)
    @triton.jit
    def made_kernel(out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, at * 0 + BLOCK + OFFSET, mask=at < n)
    return made_kernel

for offset in (1, 2):
    out = torch.zeros(1000, dtype=torch.int32)
    made(offset)[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](out, 1000, BLOCK=64)
    print(out.unique().tolist())
"""


def test_a_kernel_that_was_not_tuned_is_not_a_changed_one_of_its_name(tmp_path):
    captured_here(tmp_path, FACTORY)
    path = tmp_path / "program.capture"
    keys = {task.kernel.captured: task.key for task in read_capture(path).tasks}
    tuned, other = (keys[f"OFFSET = tl.constexpr({offset})\n"] for offset in (1, 2))
    add_winners(path, {"BLOCK": 128}, but=other)
    out, uses = applied_here(tmp_path, FACTORY)
    assert out == "[129]\n[66]\n"
    used = f"winner of task {tuned[:8]}, 1 launch: BLOCK=128"
    assert uses == f"__main__.made.<locals>.made_kernel: {used}"

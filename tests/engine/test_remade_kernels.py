"""Kernels of captured programs that are made again from the capture, without the program."""

from __future__ import annotations

import os
import sys

import pytest
from captured_programs import written

from engine.programs.captured import capture_program
from kernels.captured.recorded import load_task
from kernels.captured.task_file import read_capture

# A package that can be imported in the program alone, whose module needs another of its own.
PACKAGE = {
    "__init__": "import sys\nsys.modules['made_by_program']\n",
    "other": "import triton\n@triton.jit\ndef third(x):\n    return x / 3\n",
    "module": """
import triton
import triton.language as tl
from .other import third

@triton.jit
def of_module(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, third(tl.load(x + at, mask=at < n)), mask=at < n)
""",
}

# A module whose kernel reads what a program puts there, and what only the program can import.
INCOMPLETE = """
import triton
import triton.language as tl
import made_by_program
exp = made_by_program.tl.exp

@triton.jit
def reached(x):
    return exp(x) + OFFSET

@triton.jit
def incomplete(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = inserted(reached(tl.load(x + at, mask=at < n))) + libdevice_erf(1.0)
    tl.store(out + at, value, mask=at < n)
"""

# Kernels of a package, of a module, and of functions, wrappers and texts of a program.
PROGRAM = '''
import collections, linecache
sys.modules["made_by_program"] = sys.modules["__main__"]
from apart.module import of_module
from .helper import third
from . import incomplete_module
from triton.language.extra.cuda import libdevice

def computed(): return 3 if torch.ones(1).sum() > 0 else 4
SHIFT = tl.constexpr(computed())

@triton.jit
def with_globals(x, out, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, third(tl.load(x + at, mask=at < n)) + SHIFT, mask=at < n)

@triton.jit
def half(x):
    return x / 2

@triton.jit
def with_function(x, out, n, ACT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, ACT(tl.load(x + at, mask=at < n)), mask=at < n)

def plain(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)

handed_over = triton.jit(plain)

def made(factor):
    FACTOR = tl.constexpr(factor)
    @triton.jit
    def closed(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, FACTOR * tl.load(x + at, mask=at < n), mask=at < n)
    return closed

Scale = collections.namedtuple("Scale", "value")

def made_of(operation):
    from math import pi as PI
    ENDS = tl.constexpr(PI)
    @triton.jit
    def of_kernel(x, out, n, scale: Scale, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = operation(tl.load(x + at, mask=at < n)) * ENDS
        tl.store(out + at, value * scale.value, mask=at < n)
    return of_kernel

TEXT = """
import triton, triton.language as tl
from triton.language import program_id
import triton.language.math as numbers
FACTOR = tl.constexpr(4)
KIND = tl.float32
@triton.constexpr_function
def twice(number):
    return 2 * number
@triton.jit
def deeper(x):
    return numbers.exp(x.to(KIND)) * FACTOR
@triton.jit
def helper(x):
    return deeper(x) + FACTOR
@triton.jit
def executed(x, out, n, BLOCK: tl.constexpr):
    at = program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, helper(tl.load(x + at, mask=at < n)) * twice(3), mask=at < n)
"""
linecache.cache["<text>"] = (len(TEXT), None, TEXT.splitlines(True), "<text>")
executed = {"__name__": "executed"}
exec(compile(TEXT, "<text>", "exec"), executed)

class Holder:
    def __init__(self, kernel): self.kernel = kernel
    def __getitem__(self, grid): return self.kernel[grid]

def launched(kernel):
    return lambda *values, **options: kernel[(16,)](*values, **options)

@Holder
@triton.jit
def held(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

@launched
@triton.jit
def called(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, half(tl.load(x + at, mask=at < n)), mask=at < n)

libdevice_erf = libdevice.erf
OFFSET = tl.constexpr(5)
vars(incomplete_module).update(inserted=half, OFFSET=OFFSET, libdevice_erf=libdevice_erf)

out = torch.empty_like(x)
incomplete_module.incomplete[(16,)](x, out, 1000, BLOCK=64)
of_module[(16,)](x, out, 1000, BLOCK=64)
held[(16,)](x, out, 1000, BLOCK=64)
called(x, out, 1000, BLOCK=64)
with_function[(16,)](x, out, 1000, half, BLOCK=64)
handed_over[(16,)](x, out, 1000, BLOCK=64)
made(float("inf"))[(16,)](x, out, 1000, BLOCK=64)
with_globals[(16,)](x, out, 1000, torch.float32, BLOCK=64)
executed["executed"][(16,)](x, out, 1000, BLOCK=64)
made_of(half)[(16,)](x, out, 1000, Scale(2.0), BLOCK=64)
'''


def test_kernels_of_a_program_are_made_again_however_it_made_them(tmp_path):
    (tmp_path / "apart").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / "apart" / f"{name}.py").write_text(text)
    (tmp_path / "helper.py").write_text(PACKAGE["other"])
    (tmp_path / "incomplete_module.py").write_text(INCOMPLETE)
    written(tmp_path, PROGRAM)
    capture = tmp_path / "program.capture"
    command = [sys.executable, "-m", f"{tmp_path.name}.program"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, (tmp_path, tmp_path.parent))))
        assert capture_program(command, capture, keep_data=False) == 0
    tasks = read_capture(capture).tasks
    names = ["called", "closed", "executed", "held", "incomplete", "of_kernel", "of_module"]
    names += ["plain", "with_function", "with_globals"]
    assert sorted(task.kernel.name for task in tasks) == names
    for task in tasks:
        deployed = load_task(capture, task.key).deployed
        assert deployed.function.fn.__name__ == task.kernel.name
        assert deployed.constants["BLOCK"] == 64
        if task.kernel.name == "incomplete":
            scope = deployed.function.fn.__globals__
            assert {"inserted", "reached", "libdevice_erf"} <= {*scope}
            assert {"exp", "OFFSET"} <= {*scope["reached"].fn.__globals__}

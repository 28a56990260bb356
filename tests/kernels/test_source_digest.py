"""What identifies the kernel of a package: its code, and never the state of objects around it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]])
# As packages are: a logger, tensors in bf16, caches, decorators of their own, helpers elsewhere.
PACKAGE = {
    "__init__.py": "",
    "decorated.py": """
import threading
import triton

class Entry(triton.runtime.KernelInterface):
    def __init__(self, inner):
        self.inner, self.lock, self.known = inner, threading.Lock(), {}

    def run(self, *args, **named):
        return self.inner.run(*args, **named)

class Tuner(triton.runtime.Autotuner):
    pass
""",
    "helpers.py": """
import triton
import triton.language as tl

SCALE = tl.constexpr(2)

@triton.jit
def scaled(x):
    return SCALE * x  # twice

@triton.jit
def unused(x):
    return x
""",
    "rows.py": """
import logging
import torch
import triton
import triton.language as tl
from other_package import elsewhere
from some_package.decorated import Entry, Tuner
from some_package.helpers import scaled

logger = logging.getLogger(__name__)
ROWS = 4
SEEN = {"a": object()}
HELD = torch.ones(3, dtype=torch.bfloat16)

@triton.jit
def plain(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, scaled(tl.load(x_ptr + at, mask=at < n)), mask=at < n)

configs = [triton.Config({"BLOCK": block}) for block in (16, 32)]
tuned = Tuner(plain, plain.arg_names, configs, [], None, None)
tuned.nargs = {"x_ptr": HELD}
rows_kernel = Entry(triton.heuristics({"EVEN": lambda args: True})(tuned))

def rows(x):
    logger.debug("%s", SEEN)
    elsewhere(x)
    rows_kernel[(x.numel() // ROWS,)](x, x.numel())
    return HELD
""",
}
OTHER = {"__init__.py": "def elsewhere(x):\n    return x\n"}
# Tells the digests whenever a line with the folders comes, each time in a fork of its own:
# importing torch and Triton takes seconds.
PRINT = """
import os, sys
import torch, triton
from kernels.source_digest import source_digest
for line in sys.stdin:
    if os.fork() == 0:
        sys.path[:0] = line.rstrip().split(os.pathsep)
        from mine import FACTORS, call
        from some_package.rows import rows_kernel
        print(source_digest([rows_kernel]), source_digest([rows_kernel, call]), flush=True)
        os._exit(0)
    if os.wait()[1] != 0:
        sys.exit(1)
"""
MINE = """
import logging
import torch
from some_package.rows import rows

logger = logging.getLogger("mine")
FACTORS = torch.ones(2, dtype=torch.bfloat16)
NAMES = {"one", "two", "three", ("four", 4)}
choose = lambda name: name in {"five", "six", "seven"}

class Counter:
    def __init__(self, start):
        self.ids = [id(self), start]

COUNTER = Counter(3)

def call(N=64):
    logger.debug("%s %s", NAMES, COUNTER)
    assert choose("five")
    return rows(torch.ones(N) * FACTORS[0])
"""


@pytest.fixture(scope="module")
def printers():
    """Processes that run `PRINT`, by their seed of hashes."""
    started = {}

    def printer(seed):
        if seed not in started:
            environment = {"PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
            started[seed] = subprocess.Popen(
                [sys.executable, "-c", PRINT],
                env={**os.environ, **environment, "PYTHONPATH": PATHS},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return started[seed]

    yield printer
    for process in started.values():
        process.communicate()


@pytest.fixture
def digests(tmp_path, printers):
    """Digests of the kernel, and of it with a user's function, in a process of their own."""

    def run(changes=None, mine=MINE, other=OTHER, seed="0"):
        installed = tmp_path / "site-packages"
        for folder, files in (("some_package", PACKAGE), ("other_package", other)):
            (installed / folder).mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (installed / folder / name).write_text(_changed(text, changes or {}))
        (tmp_path / "mine.py").write_text(mine)
        process = printers(seed)
        process.stdin.write(f"{installed}{os.pathsep}{tmp_path}\n")
        process.stdin.flush()
        told = process.stdout.readline()
        assert told, "the process ended: standard error says why"
        return tuple(told.split())

    return run


def _changed(text, changes):
    for before, after in changes.items():
        text = text.replace(before, after)
    return text


def test_every_process_finds_the_same(digests):
    assert digests(seed="1") == digests()


def test_a_changed_kernel_of_an_installed_package_is_another(digests):
    kernel, called = digests()
    changed = [
        {"mask=at < n)": "mask=at <= n)"},
        {"return SCALE * x": "return x * SCALE"},
        {"constexpr(2)": "constexpr(3)"},
        {"lambda args: True": "lambda args: False"},
    ]
    for changes in changed:
        other_kernel, other_called = digests(changes)
        assert other_kernel != kernel, changes
        assert other_called != called, changes


def test_a_changed_wrapper_of_its_package_counts_where_it_is_called(digests):
    kernel, called = digests()
    for changes in ({"x.numel() // ROWS": "x.numel()"}, {"ROWS = 4": "ROWS = 8"}):
        other_kernel, other_called = digests(changes)
        assert other_kernel == kernel, changes
        assert other_called != called, changes


def test_comments_other_kernels_and_state_do_not(digests):
    first = digests()
    changes = {
        "# twice": "# doubled",
        "def unused(x):\n    return x": "def unused(x):\n    return x + 1",
        '{"a": object()}': '{"b": object(), "c": 1}',
        "torch.ones(3,": "torch.zeros(3,",
        "(16, 32)": "(16, 32, 64)",
    }
    assert digests(changes) == first
    assert digests(other={"__init__.py": "def elsewhere(x):\n    return 2 * x\n"}) == first


@pytest.mark.parametrize(
    ("before", "after"),
    [("torch.ones(2,", "torch.zeros(2,"), ("Counter(3)", "Counter(4)"), ('"three"', '"tree"')],
)
def test_constants_of_a_file_of_ones_own_count(digests, before, after):
    assert digests(mine=MINE.replace(before, after))[1] != digests()[1]

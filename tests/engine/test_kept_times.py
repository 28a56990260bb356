"""What makes stored times worthless, and what does not: the list of configurations may change."""

from __future__ import annotations

import importlib.util
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from engine.search import Search
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from kernels.source_digest import source_digest
from search_spaces.space import SearchSpace

KERNEL = """\
import triton
import triton.language as tl
import kept_times_helpers as helpers

FACTOR: tl.constexpr = tl.constexpr(2)


@triton.jit
def twice(x):
    return x * FACTOR


@triton.jit
def twofold_kernel(x_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < N)
    tl.store(x_ptr + offsets, helpers.plus(twice(x)), mask=offsets < N)
"""
HELPERS = """\
import triton


@triton.jit
def plus(x):
    return x + 1
"""


@pytest.fixture
def digest_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The digest of a kernel's file, which imports another."""

    def imported(name: str, text: str) -> ModuleType:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        linecache.clearcache()
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        source = compile(text, str(path), "exec")  # a file that changes twice in a second is cached
        exec(source, vars(module))
        return module

    def digest(kernel: str, helpers: str = HELPERS) -> str:
        imported("kept_times_helpers", helpers)
        return source_digest([imported("kept_times_kernel", kernel).twofold_kernel])

    return digest


def test_only_what_the_kernel_computes_counts(digest_of: Callable[..., str]) -> None:
    before = digest_of(KERNEL)
    assert digest_of("CONFIGS = [\n    1,\n    2,\n]\n" + KERNEL) == before
    assert digest_of(KERNEL + "\nOTHER = 3\n") == before
    assert digest_of(KERNEL.replace("x * FACTOR", "x + x * FACTOR")) != before
    assert digest_of(KERNEL.replace("constexpr(2)", "constexpr(3)")) != before
    assert digest_of(KERNEL.replace("offsets < N", "offsets <= N")) != before
    assert digest_of(KERNEL, HELPERS.replace("x + 1", "x + 2")) != before


def test_a_list_that_grows_and_shrinks_keeps_its_times(tmp_path: Path) -> None:
    storage = str(tmp_path / "tuner.journal")
    identity = StudyIdentity("twofold", {"N": 8}, "fp32", "emulated:x60", "grid", {})

    def search(*blocks: int) -> Search:
        space = SearchSpace.from_configs([{"BLOCK": block} for block in blocks])
        return Search(space, "grid", trials=open_study(storage, identity, space))

    first = search(16, 32)
    while (config := first.ask()) is not None:
        first.tell(config, float(config["BLOCK"]))
    longer = search(8, 16, 32)
    assert longer.tried == 2
    config = longer.ask()
    assert config == {"BLOCK": 8}
    longer.tell(config, 100.0)
    shorter = search(32, 8)
    assert shorter.tried == 2
    assert shorter.ask() is None
    assert shorter.best() == ({"BLOCK": 32}, 32.0)
    assert search(8, 16, 32).best() == ({"BLOCK": 16}, 16.0)

"""What changes the digest of a user's own file, and so makes earlier outcomes worthless."""

from __future__ import annotations

import linecache
import sys
from types import ModuleType

import pytest
from own_kernel_files import TWICE, WITH_SPEC

from rvv_runner.devices import load_board


def test_what_makes_earlier_times_worthless(problem_of):
    """More configurations do not; other arguments, another grid or another reference do."""
    digest = problem_of(TWICE).spec.source_digest
    last = 'triton.Config({"BLOCK": 64, "PLUS": True})'
    more = TWICE.replace(last, f"{last}, triton.Config({{'BLOCK': 8, 'PLUS': False}})")
    assert len(list(problem_of(more).space(load_board("emulated").info).valid_configs())) == 3
    assert problem_of(more).spec.source_digest == digest
    assert problem_of(TWICE.replace("torch.randn", "torch.rand")).spec.source_digest != digest
    assert problem_of(TWICE.replace('"BLOCK"]), 1', '"BLOCK"]), 1, 1')).spec.source_digest != digest
    assert problem_of(TWICE.replace("2 * x", "x + x")).spec.source_digest != digest
    checked = TWICE + "def reference(x_ptr):\n    return {'out_ptr': 2 * x_ptr}\n"
    wrong = problem_of(checked).spec.source_digest
    assert problem_of(checked.replace("2 * x_ptr", "3 * x_ptr")).spec.source_digest != wrong


# What a reference reaches, in its own file and beside it.
HELPED = (
    TWICE
    + """
import helpers_of_mine
from helpers_of_mine import half

FACTOR = 2
SHIFTS = {"none": [0.0]}

class Scale:
    def of(self, x):
        return FACTOR * x

def unused(x):
    return 7 * x

def scaled(x):
    return Scale().of(x) + SHIFTS["none"][0]

def reference(x_ptr):
    # A comment.
    return {"out_ptr": helpers_of_mine.double(half(scaled(x_ptr)))}
"""
)
HELPERS = """
WEIGHT = 2

def double(x):
    return WEIGHT * x

def half(x):
    return x / 2

def other(x):
    return x / 3
"""


@pytest.fixture
def digest_of(problem_of, tmp_path, monkeypatch):
    """The digest of a file and of the one beside it."""

    def digest(text: str, helpers: str = HELPERS) -> str:
        linecache.clearcache()
        path = tmp_path / "helpers_of_mine.py"
        path.write_text(helpers)
        module = ModuleType("helpers_of_mine")
        module.__file__ = str(path)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(helpers, str(path), "exec"), vars(module))
        return problem_of(text).spec.source_digest

    return digest


@pytest.mark.parametrize(
    ("before", "after"),
    [("FACTOR = 2", "FACTOR = 3"), ("FACTOR * x", "FACTOR + x"), ("[0.0]", "[1.0]")],
)
def test_what_a_reference_reaches_makes_earlier_outcomes_worthless(digest_of, before, after):
    assert digest_of(HELPED.replace(before, after)) != digest_of(HELPED)


@pytest.mark.parametrize(("before", "after"), [("WEIGHT = 2", "WEIGHT = 4"), ("x / 2", "x / 4")])
def test_so_does_a_change_in_a_file_that_it_imports(digest_of, before, after):
    assert digest_of(HELPED, HELPERS.replace(before, after)) != digest_of(HELPED)


def test_nothing_else_in_the_files_does(digest_of):
    before = digest_of(HELPED)
    moved = HELPED.replace("# A comment.", '"""Says more."""').replace("7 * x", "8 * x")
    assert digest_of("# Further down.\n" + moved, HELPERS.replace("x / 3", "x / 5")) == before


def test_a_file_beside_it_counts_only_if_a_function_imports_it(problem_of, tmp_path):
    """Not by the name alone: `a.t()` has nothing to do with t.py."""
    reference = """
def reference(x_ptr):
    {imports}
    return {{"out_ptr": 2 * x_ptr[None].t()[:, 0]}}
"""

    def digests(imports):
        text = TWICE + reference.format(imports=imports)
        for contents in ("ONE = 1", "ONE = 2"):
            (tmp_path / "t.py").write_text(contents)
            yield problem_of(text).spec.source_digest

    assert len(set(digests("pass"))) == 1
    assert len(set(digests("from t import ONE"))) == 2
    assert len(set(digests("import t as other"))) == 2


def test_a_mended_reference_of_a_kernel_with_a_spec_counts_too(problem_of):
    digest = problem_of(WITH_SPEC, "twofold").spec.source_digest
    mended = WITH_SPEC.replace('output_array("out_ptr", 2 * x)', 'output_array("out_ptr", 3 * x)')
    assert problem_of(mended, "twofold").spec.source_digest != digest

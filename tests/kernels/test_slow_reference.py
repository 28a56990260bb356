"""What a slow reference gives is computed once for all processes of a study."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from own_kernel_files import TWICE

from kernels.own import slow_reference
from kernels.values import data_set

REFERENCE = """
from pathlib import Path

def reference(x_ptr):
    here = Path(__file__).parent
    with (here / "calls").open("a") as calls, (here / "threads").open("a") as threads:
        calls.write("1")
        threads.write(str(torch.get_num_threads()))
    return {"out_ptr": int((here / "factor").read_text()) * x_ptr}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(slow_reference, "_SLOW_S", 0.0)


@pytest.fixture
def study(tmp_path, problem_of):
    """Opens a study, as one process, and has another make its inputs; how often they called the
    reference, and what it gave for both sets."""

    def begin(factor):
        (tmp_path / "factor").write_text(str(factor))
        kept = "kept_inputs = ['x_ptr']\n"
        problem_of(kept + TWICE + REFERENCE).spec.check(problem_of(kept + TWICE + REFERENCE))
        opened = len((tmp_path / "calls").read_text())
        builder = problem_of(kept + TWICE + REFERENCE)
        outputs = []
        for number in (0, 1):
            with data_set(number):
                x, out, _ = builder.arguments(builder.default_config)
            outputs.append((x.value, out.expected))
        calls = len((tmp_path / "calls").read_text())
        (tmp_path / "calls").write_text("")
        return opened, calls - opened, outputs

    return begin


# The plain one, four that are disturbed and one in fp64, for the check and for the timed runs; and
# one more of a quick reference, to see whether it gives the same.
CALLS = 2 * 6 + 1


def test_the_process_that_opens_a_study_calls_it_for_all(study):
    opened, built, outputs = study(2)
    assert (opened, built) == (CALLS, 0)
    (x, expected), (other, timed) = outputs
    assert np.array_equal(expected, 2 * x)
    assert np.array_equal(timed, 2 * other)
    assert not np.array_equal(x, other)


def test_a_later_study_calls_it_to_see_whether_it_gives_the_same(study):
    study(2)
    opened, built, _ = study(2)
    assert (opened, built) == (2, 0)
    opened, built, [(x, expected), _] = study(3)
    assert (opened, built) == (CALLS, 0)
    assert np.array_equal(expected, 3 * x)


def test_what_a_quick_one_gives_is_not_kept(study, monkeypatch):
    study(2)
    monkeypatch.setattr(slow_reference, "_SLOW_S", 100.0)
    _, built, [(x, expected), _] = study(3)
    assert built == 2 * 6
    assert np.array_equal(expected, 3 * x)


def test_what_is_soon_done_is_done_on_one_thread(study, monkeypatch, tmp_path):
    """Others would take processor time while they wait."""
    torch_threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        study(2)
        assert set((tmp_path / "threads").read_text()) == {"2"}
        (tmp_path / "threads").unlink()
        monkeypatch.setattr(slow_reference, "_SLOW_S", 100.0)
        study(3)
    finally:
        torch.set_num_threads(torch_threads)
    first, *others = (tmp_path / "threads").read_text()
    assert (first, set(others)) == ("2", {"1"})


def test_what_is_kept_for_long_is_forgotten(study, monkeypatch):
    study(2)
    monkeypatch.setattr(slow_reference, "_FOR_S", 0.0)
    _, built, _ = study(2)
    assert built == 2 * 6

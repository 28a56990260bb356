"""Inputs of the check have other signs, means and scales than a file's, if its kernel allows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from kernels.own.changed_inputs import Change, changed
from kernels.own.integer_changes import with_integers
from kernels.own.refused_changes import on_refused
from kernels.registry import load_kernel, make_problem
from kernels.values import data_set
from rvv_runner import ElfArtifact

pytestmark = pytest.mark.timeout(120)

FILE = Path(__file__).parent / "written_with_dull_inputs.py"
USUAL_VALUES = Path(__file__).parent / "written_for_usual_values.py"
LEFT_OUT = [
    *("bias", "swallowed", "magnitude", "power", "mean", "place", "zeros", "length", "near"),
    *("overflow", "described", "rim", "short"),
]
LEFT_OUT_FOR_USUAL_VALUES = [
    *("guard", "floor", "number", "whole", "eighth", "tie", "entropy", "mask", "limit", "label"),
    *("order", "segment", "scaled_tie", "hidden", "gap", "table"),
]


def problem_of(name: str):
    file = USUAL_VALUES if name in LEFT_OUT_FOR_USUAL_VALUES else FILE
    return make_problem(load_kernel(f"{file}:{name}_kernel"), {})


@pytest.fixture
def measured(board, folder):
    """Both configurations of a kernel, the honest one first, as its file sets FAST."""

    def measure(problem):
        store = ArtifactStore(folder / "builds")
        target, spec = board.info.target, problem.spec
        request = BuildRequest(spec.load_name, problem.shape, problem.dtype, target, store)
        builder = KernelBuilder(request)
        for fast in (0, 1):
            built = builder.build(Config({"FAST": fast, "BLOCK": 64}))
            assert isinstance(built, ElfArtifact), built.reason
            yield board.measure(built, 1, 20.0)

    return measure


@pytest.mark.parametrize("board", ["host"], indirect=True)
@pytest.mark.parametrize("name", [*LEFT_OUT, *LEFT_OUT_FOR_USUAL_VALUES])
def test_what_is_left_out_is_found(name, measured):
    honest, other = measured(problem_of(name))
    assert honest.status == "correct", honest.reason
    assert other.status == "wrong"
    assert "y_ptr[" in other.reason


@pytest.mark.parametrize("board", ["host"], indirect=True)
def test_inputs_stay_where_the_kernel_is_not_defined_elsewhere(measured):
    problem = problem_of("root")
    assert [each.status for each in measured(problem)] == ["correct", "correct"]
    x, w, _ = problem.arguments(problem.default_config)
    assert not (x.value <= 0).any()
    assert np.nanmax(w.value) - np.nanmin(w.value) > 1


@pytest.mark.parametrize("board", ["host"], indirect=True)
def test_digits_that_a_formula_loses_show(measured):
    exact, other = measured(problem_of("digits"))
    assert (exact.status, other.status) == ("correct", "correct")
    assert other.max_share > 16 * exact.max_share


def test_a_default_that_does_not_end_on_other_inputs_is_named_and_the_rest_is_tried():
    problem = problem_of("endless")
    (note,) = problem.spec.check(problem)
    assert note == (
        "the check keeps w_ptr close to what arguments makes, since the default configuration does "
        "not end on other inputs: with negative elements"
    )
    _, w, _ = problem.arguments(problem.default_config)
    assert -1 in w.value
    assert -100 not in w.value


def test_a_default_that_is_wrong_on_other_inputs_is_named(tmp_path):
    path = tmp_path / "fast.py"
    path.write_text(FILE.read_text().replace("for fast in (0, 1)", "for fast in (1,)"))
    problem = make_problem(load_kernel(f"{path}:magnitude_kernel"), {})
    (note,) = problem.spec.check(problem)
    assert note.startswith("the check keeps x_ptr close to what arguments makes")
    assert "y_ptr[" in note
    assert problem_of("root").spec.check(problem_of("root")) == ()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"far": True}, "with a row far from zero, y[0]"),
        ({"far": True, "zero_rows": True}, "rows 4096 times smaller in x, "),
        ({"zero_rows": True, "signs": False}, ""),
        ({"far": True, "halfway": True}, ""),
    ],
)
def test_rows_that_few_kernels_are_not_meant_for_are_told(more, words):
    change = replace(Change(row_scale=64.0, heavy=8.0, signs=True), **more)
    told = on_refused([({"x": change}, "y[0] is 1 and should be 2")])
    assert words in told
    assert bool(told) == bool(words)


def test_a_number_of_which_the_reference_has_a_copy_stays_as_it_is(tmp_path):
    path = tmp_path / "copy.py"
    path.write_text(USUAL_VALUES.read_text().replace("(square + floor)", "(square + 1e-5)"))
    problem = make_problem(load_kernel(f"{path}:floor_kernel"), {})
    *_, floor = problem.arguments(problem.default_config)
    assert floor.value == 1e-5
    assert problem.spec.check(problem) == ()


@pytest.mark.parametrize(
    ("kernel", "reference"), [("1e-6", "1e-5"), ("floor", "1e-5"), ("0", "floor")]
)
def test_a_default_with_another_guard_is_named(tmp_path, kernel, reference):
    path = tmp_path / "guard.py"
    text = USUAL_VALUES.read_text()
    text = text.replace("(1e-12 if FAST else floor)", kernel).replace(
        '"floor": 1e-5', '"floor": 1e-7'
    )
    path.write_text(text.replace("(square + floor)", f"(square + {reference})"))
    problem = make_problem(load_kernel(f"{path}:floor_kernel"), {})
    notes = problem.spec.check(problem)
    expected = (
        "the default configuration differs from reference with rows of zeros and rows 4096 times "
        "smaller in x_ptr, which the check leaves out: y_ptr["
    )
    assert notes[-1].startswith(expected)
    is_unused = "makes no use of floor" in notes[0]
    assert is_unused == (kernel != "floor")


def test_inputs_tell_also_where_arguments_takes_the_configuration(tmp_path):
    path = tmp_path / "follows.py"
    path.write_text(FILE.read_text().replace("def arguments(M", "def arguments(config=None, M"))
    plain = make_problem(load_kernel(f"{FILE}:bias_kernel"), {})
    problem = make_problem(load_kernel(f"{path}:bias_kernel"), {})
    assert problem.spec.check(problem) == plain.spec.check(plain)
    pairs = zip(*(p.arguments(p.default_config) for p in (plain, problem)), strict=True)
    assert all(np.array_equal(given.value, usual.value, equal_nan=True) for usual, given in pairs)


FOLLOWED = """
import torch
import triton
import triton.language as tl


@triton.jit
def scaled_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=at < N), mask=at < N)


def get_scaled_kernel_autotune_config():
    return [triton.Config({"BLOCK": block}) for block in (16, 32)]


def arguments(config, N=320):
    x = torch.rand(N) + (config.get("BLOCK", 0) == MARKED)
    return {"x_ptr": x, "out_ptr": torch.empty(N), "N": N}


def grid(meta):
    return triton.cdiv(meta["N"], meta["BLOCK"])


def reference(x_ptr):
    return {"out_ptr": 2 * x_ptr}
"""


@pytest.mark.parametrize("marked", [0, 32])
def test_a_configuration_with_inputs_of_its_own_keeps_them_and_is_named(tmp_path, marked):
    path = tmp_path / "scaled.py"
    path.write_text(FOLLOWED.replace("MARKED", str(marked)))
    problem = make_problem(load_kernel(str(path)), {})
    default, other = ({"BLOCK": block} for block in (16, 32))
    notes = problem.spec.check(problem)
    x, *_ = problem.arguments(Config(default))
    assert np.nanmin(x.value) < 0  # it got signs
    of_other, *_ = problem.arguments(Config(other))
    if marked:
        assert np.nanmin(of_other.value) >= 1
        (note,) = notes
        assert "the file's own inputs for configurations such as BLOCK=32, since arguments" in note
    else:
        assert np.array_equal(of_other.value, x.value, equal_nan=True)
        assert notes == ()


def test_inputs_tell_also_where_the_reference_follows_the_configuration(tmp_path):
    path = tmp_path / "follows.py"
    text = FILE.read_text().replace("_reference(", "_reference(config, ")
    path.write_text(text)
    plain = make_problem(load_kernel(f"{FILE}:bias_kernel"), {})
    problem = make_problem(load_kernel(f"{path}:bias_kernel"), {})
    assert problem.spec.check(problem) == plain.spec.check(plain)
    pairs = zip(*(p.arguments(p.default_config) for p in (plain, problem)), strict=True)
    for usual, given in pairs:
        assert np.array_equal(given.value, usual.value, equal_nan=True)
        assert (given.expected is None) == (usual.expected is None)
        if given.expected is not None:
            assert np.array_equal(given.expected, usual.expected, equal_nan=True)


def test_inputs_are_tried_on_one_thread_which_does_not_wait_for_others(tmp_path, monkeypatch):
    # Not what an earlier run of the tests found and kept.
    monkeypatch.setattr("kernels.own.kept_answers._kept", lambda key, find: find())
    path, seen = tmp_path / "threads.py", tmp_path / "seen"
    text = FILE.read_text()
    start = text.index("def root_reference(")
    body = text.index("\n", start) + 1
    note = f"    print(torch.get_num_threads(), file=open({str(seen)!r}, 'a'))\n"
    path.write_text(f"{text[:body]}{note}{text[body:]}")
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        problem = make_problem(load_kernel(f"{path}:root_kernel"), {})
        problem.arguments(problem.default_config)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert "1" in seen.read_text().split()


def test_the_timed_runs_keep_the_files_inputs():
    problem = problem_of("bias")
    (x, w, _), config = problem.arguments(problem.default_config), problem.default_config
    assert (x.value < 0).any()
    assert w.value.any()
    with data_set(1):
        x, w, _ = problem.arguments(config)
    assert (x.value > 0).all()
    assert not w.value.any()


def test_tensors_that_lie_over_each_other_are_named(tmp_path):
    whole = "whole = torch.rand(M * N + 8)"
    views = '"x_ptr": whole[8:].view(M, N), "y_ptr": whole[:-8].view(M, N)'
    text = FILE.read_text() + (
        f"\n\ndef power_arguments(M=16, N=64):\n    {whole}\n"
        f'    return {{"w_ptr": torch.zeros(M, N), {views}}}\npower_grid = grid\n'
    )
    (tmp_path / "over.py").write_text(text)
    problem = make_problem(load_kernel(f"{tmp_path / 'over.py'}:power_kernel"), {})
    notes = problem.spec.check(problem)
    assert notes == (
        "x_ptr, y_ptr share memory: each has an array of its own here, so a kernel that reads what "
        "it has overwritten there is not found",
    )


def test_a_reference_without_a_finite_number_is_named():
    problem = problem_of("nan")
    assert problem.spec.check(problem) == (
        "this check would accept a constant: reference expects nan and no finite number in y_ptr; "
        "other inputs let it tell more",
    )


def test_heavy_elements_stand_twice_and_at_the_rim_and_zeros_become_numbers():
    found = changed({"x": torch.zeros(24, 10)}, {"x": Change(heavy=8.0, ties=True)})["x"]
    largest = found.abs() == found.abs().amax(1, keepdim=True)
    assert (largest.sum(1) == 2).any()
    assert largest[:, -1].any()
    assert found.all()


@pytest.mark.parametrize("rows", range(2, 8))
def test_of_few_rows_one_is_small_one_is_zero_and_one_has_its_largest_at_the_rim(rows):
    change = Change(row_scale=64.0, heavy=8.0, signs=True, ties=True, zero_rows=True, halfway=True)
    x = torch.randn(rows, 1000)
    found = changed({"x": x}, {"x": change})["x"]
    sizes = found.square().mean(1).sqrt()
    assert ((sizes > 0) & (sizes < 1e-2)).any()
    assert (sizes == 0).any()
    assert (found[:, -1:] > found[:, :-1]).all(1).any()
    across = changed({"x": x.T}, {"x": replace(change, along=0)})["x"]
    assert torch.equal(across.T, found)


def test_segments_become_unequal_and_some_empty():
    ends = torch.arange(0, 640, 10)
    found = changed({"o": ends}, {"o": Change(uneven=True, empty=True)})["o"].diff()
    assert (found >= 0).all()
    assert (found == 0).any()
    assert found.unique().numel() > 2


def test_integers_change_where_infinity_stands_in_their_way():
    floats, ends = {"x": Change(signs=True, infinite=True)}, torch.arange(8, dtype=torch.int32)

    def first_right(tried):
        """The kernel sums finite numbers up to ends that ascend."""
        is_right = (o for o in tried if o["o"].uneven and not o.get("x", Change()).infinite)
        return next(is_right, {})

    found = with_integers("o", {"o": ends}, floats, first_right)
    assert found["x"] == Change(signs=True)
    assert found["o"].empty


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_changes_are_made_in_copies_of_any_layout(dtype):
    change = Change(row_scale=4.0, heavy=2.0, shift=1.0, signs=True)
    x = torch.rand(24, 10, dtype=torch.float64).to(dtype)
    for tensor in (x, x.T, x[::2, ::3], x[0], x[0, 0]):
        before = tensor.clone()
        found = changed({"x": tensor}, {"x": change})["x"]
        assert torch.equal(tensor, before)
        assert (found.shape, found.stride()) == (tensor.shape, tensor.stride())
        assert found.isfinite().all()

"""What is said of kernels that are wrong on ordinary inputs, on extreme ones, and where elements
are equal."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kernels.own.ordinary_inputs import ordinary_changes
from kernels.own.ties import tied_input
from kernels.registry import load_kernel, make_problem

pytestmark = pytest.mark.timeout(180)

ROWS = """
import torch
import triton
import triton.language as tl


@triton.jit
def row_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=OTHER)
    STATEMENTS


def get_row_kernel_autotune_config():
    return [triton.Config({"BLOCK": 64})]


def arguments(M=16, N=60):
    return {"x_ptr": MADE, "y_ptr": torch.empty(M, dtype=TYPE), "N": N}


def grid(meta):
    return (meta["M"],)


def reference(x_ptr):
    return {"y_ptr": REFERENCE}
"""
LOG_SUM = """most = MOST
    tl.store(y_ptr + row, most + tl.log(tl.sum(tl.exp(x - most), 0)))"""
MAXIMUM = LOG_SUM.replace("MOST", "tl.max(x, 0)")
WHOLE = "x_ptr.logsumexp(1)"


def said_of(
    folder: Path,
    *,
    other: str = '-float("inf")',
    statements: str = MAXIMUM,
    made: str = "torch.randn(M, N)",
    reference: str = WHOLE,
    dtype: str = "torch.float32",
) -> tuple[str, ...]:
    """What the check of such a file says."""
    text = ROWS.replace("OTHER", other).replace("STATEMENTS", statements).replace("MADE", made)
    path = folder / "rows.py"
    path.write_text(text.replace("REFERENCE", reference).replace("TYPE", dtype))
    problem = make_problem(load_kernel(str(path)), {})
    assert problem.spec.check is not None
    return problem.spec.check(problem)


def test_a_padding_that_is_not_neutral_is_probably_wrong(tmp_path):
    (note,) = said_of(tmp_path, other="-6.0")  # on the file's own inputs, hardly a difference
    assert note.startswith("probably wrong for inputs such as x_ptr with rows that lie 4 times")
    assert "y_ptr[" in note


def test_the_neutral_padding_is_right(tmp_path):
    assert said_of(tmp_path) == ()


def test_an_overflow_on_extreme_inputs_alone_is_a_note(tmp_path):
    (note,) = said_of(tmp_path, statements=LOG_SUM.replace("MOST", "0.0"))
    assert note.startswith("the check keeps x_ptr close to what arguments makes")


def test_numbers_that_are_no_ordinary_ones_stay_a_note(tmp_path):
    """Of positive ones, no row below zero is ordinary."""
    notes = said_of(tmp_path, other="-6.0", made="torch.rand(M, N)")
    assert not any(note.startswith("probably wrong") for note in notes)


def test_a_tie_is_told_as_one(tmp_path):
    last = "tl.store(y_ptr + row, tl.max(tl.where(x == tl.max(x, 0), columns, 0), 0))"
    (note,) = said_of(
        tmp_path, statements=last, reference="x_ptr.argmax(1).int()", dtype="torch.int32"
    )
    assert note.startswith("where elements of x_ptr are equal, the default configuration chooses")
    assert "y_ptr[" in note


@pytest.mark.parametrize(
    ("values", "is_ordinary"),
    [
        (torch.randn(4, 4), True),
        (torch.rand(4, 4), False),  # probabilities, scales
        (-torch.rand(4, 4), False),  # gates that decay
        (torch.tensor([[-1.0, 0.0, 1.0]]), False),  # signs, masks
        (torch.tensor([[-torch.inf, 0.0]]), False),
    ],
)
def test_which_inputs_may_lie_elsewhere(values, is_ordinary):
    assert bool(ordinary_changes({"x": values}, {"x": None})) == is_ordinary


@pytest.mark.parametrize(
    ("shape", "mismatch", "name"),
    [
        ((2,), "y[1] is 0 and should be 2", "x"),  # as of argmax
        ((2, 2), "y[2] is 0 and should be 2; 1 of 4 are wrong", "x"),  # as of topk
        ((2,), "y[0] is 0 and should be 2", ""),
        ((2,), "y[1] is 0 and should be 7", ""),
        ((5,), "y[4] is 0 and should be 2", ""),
        ((2,), "y[1] is 0.5 and should be 2", ""),
    ],
)
def test_a_tie_is_of_equal_elements_of_one_row(shape, mismatch, name):
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 4.0]])
    values = {"x": x, "y": torch.empty(shape, dtype=torch.int32)}
    assert tied_input(mismatch, values, ["x"]) == name
    assert tied_input(mismatch, {**values, "y": torch.empty(shape)}, ["x"]) == ""

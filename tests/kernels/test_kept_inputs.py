"""A configuration may rely on its inputs: on which is said, and a file may keep them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foundation.config import Config
from foundation.errors import UserError
from kernels.own.changed_inputs import Change
from kernels.own.journal import Journal
from kernels.own.relied_on import relied_on
from kernels.registry import load_kernel, make_problem

FILE = (Path(__file__).parent / "written_for_whole_blocks.py").read_text()
CAREFUL, WHOLE = Config({"WHOLE": 0, "BLOCK": 16}), Config({"WHOLE": 1, "BLOCK": 16})


def problem_of(folder: Path, text: str):
    path = folder / "sums.py"
    path.write_text(text)
    return make_problem(load_kernel(str(path)), {})


def test_a_configuration_that_relies_on_inputs_is_told_from_one_that_is_wrong(tmp_path):
    problem = problem_of(tmp_path, FILE)
    assert problem.spec.on_inputs is not None
    assert problem.spec.on_inputs(problem, CAREFUL) == ""
    said = problem.spec.on_inputs(problem, WHOLE)
    assert said.startswith("WHOLE=1,BLOCK=16 is right with length_ptr as arguments makes it, and ")
    assert said.endswith("write kept_inputs = ['length_ptr'] into the file")


def test_one_that_is_wrong_on_the_files_inputs_relies_on_none(tmp_path):
    problem = problem_of(tmp_path, FILE.replace("// BLOCK * BLOCK if WHOLE", "- BLOCK if WHOLE"))
    assert problem.spec.on_inputs(problem, WHOLE) == ""


def test_a_file_may_keep_inputs(tmp_path):
    plain = problem_of(tmp_path, FILE)
    kept = problem_of(tmp_path, f"{FILE}\nkept_inputs = ['length_ptr']\n")
    x, lengths, scale, *_ = kept.arguments(CAREFUL)
    assert (lengths.value % 16 == 0).all()
    assert (x.value < 0).any()
    assert not (scale.value == 1).all()
    assert kept.spec.on_inputs(kept, WHOLE) == ""
    (note,) = kept.spec.check(kept)
    assert note.startswith(
        "the kernel's file says kept_inputs: the winner is right for such length"
    )
    # What was found wrong with other inputs is measured again.
    assert kept.spec.source_digest == f"{plain.spec.source_digest}-kept-length_ptr"


def test_a_kernel_of_several_keeps_inputs_under_its_own_name(tmp_path):
    own = FILE
    for name in ("arguments", "grid", "reference"):
        own = own.replace(f"def {name}(", f"def sums_{name}(")
    problem = problem_of(tmp_path, own)
    assert problem.spec.on_inputs(problem, WHOLE).endswith(
        "write sums_kept_inputs = ['length_ptr'] into the file"
    )
    kept = problem_of(tmp_path, f"{own}\nsums_kept_inputs = ['length_ptr']\n")
    assert kept.spec.kept_inputs == {"length_ptr"}
    (note,) = kept.spec.check(kept)
    assert note.startswith("the kernel's file says sums_kept_inputs: ")


class _Hanging:
    """A configuration that hangs as soon as some input is changed."""

    def __init__(self) -> None:
        self.runs, self.gave_up, self.is_endless = 0, False, False
        self.mismatch = self.out_of_bounds = ""

    def is_right(self, changes):
        self.runs += 1
        self.gave_up = bool(changes)
        return not changes


def test_no_more_is_run_after_a_run_that_took_too_long():
    run: Any = _Hanging()
    same: Any = dict
    assert relied_on(run, same, dict.fromkeys("abc", Change(zeros=True)), Journal()) == ()
    assert run.runs == 1


@pytest.mark.parametrize("said", ["['lengths_ptr']", "'lengths_ptr'", "[3]"])
def test_a_kept_input_has_to_be_a_parameter(tmp_path, said):
    with pytest.raises(UserError, match=r"kept_inputs lists parameters of sums_kernel, and "):
        problem_of(tmp_path, f"{FILE}\nkept_inputs = {said}\n")

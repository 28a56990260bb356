"""Lists of batch sizes, N and K: those that come with the project, and mistakes in one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.jobs.shape_list import read_shape_list
from foundation.errors import UserError

STUDIES = Path(__file__).parents[2] / "studies"
PROJECT_LISTS = [path for path in STUDIES.glob("*.yaml") if path.name != "missing.yaml"]
LIST = """\
kernel: gemm_a8w8_blockscale
tag: A8W8_BLOCKSCALE
dtype: i8
output_dtype: f16
atol: 1e-2
rtol: 0.5
num_iters: 20
shapes:
  - {batch_sizes: [32, 16, 32], N: 24, K: 40}
"""


def read(folder: Path, text: str) -> str:
    path = folder / "list.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_shape_list(path)
    return str(caught.value)


def test_list_becomes_problems(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    path.write_text(LIST)
    job = read_shape_list(path)
    (group,) = job.groups
    assert group.tag(job.tag) == "A8W8_BLOCKSCALE-N=24-K=40"
    assert [problem.shape["M"] for problem in group.problems] == [16, 32]
    assert job.num_iters == 20
    assert str(job.outputs) == "dtype=fp16,atol=0.01,rtol=0.5"


@pytest.mark.parametrize("path", PROJECT_LISTS, ids=lambda path: path.name)
def test_lists_of_the_project_can_be_read(path: Path) -> None:
    assert read_shape_list(path).groups


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("atol: 1e-2", "atol: -1", 5, "atol is -1"),
        ("atol: 1e-2", "atol: much", 5, "atol is much"),
        ("num_iters: 20", "num_iters: many", 7, "num_iters is many"),
        ("rtol: 0.5", "rtoll: 0.5", 6, "did you mean rtol"),
        ("output_dtype: f16", "output_dtype: i8", 4, "no outputs in i8"),
        ("kernel: gemm_a8w8_blockscale", "kernel: dropout", 1, "not M, N and K"),
        ("tag: A8W8_BLOCKSCALE", "tag: a/b", 2, "tag is a/b"),
        ("[32, 16, 32]", "[32, -16]", 9, "batch_sizes is -16"),
        ("[32, 16, 32]", "[]", 9, "batch_sizes is an empty list"),
        ("[32, 16, 32]", "32", 9, "batch_sizes is 32: give it a list"),
        ("N: 24, ", "", 9, "has no N"),
        ("N: 24, ", "N: 24, M: 3, ", 9, "M is not a key of shape"),
        ("dtype: i8", "dtype: bf16", 3, "does not take bf16"),
        ("kernel: gemm_a8w8_blockscale\n", "", 1, "has no kernel"),
    ],
)
def test_mistakes_name_file_line_and_key(
    tmp_path: Path, old: str, new: str, line: int, says: str
) -> None:
    assert old in LIST
    said = read(tmp_path, LIST.replace(old, new))
    assert f"list.yaml, line {line}: " in said
    assert says in said


def test_one_weight_matrix_is_listed_once(tmp_path: Path) -> None:
    said = read(tmp_path, LIST + "  - {batch_sizes: [1], N: 24, K: 40}\n")
    assert "N=24, K=40 is listed twice" in said

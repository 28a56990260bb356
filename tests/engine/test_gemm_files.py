"""Files of sizes and results: what is read, what is refused and where, and both ways."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import gemm
from engine.jobs.gemm_files import read_sizes
from engine.results.gemm_results import write_results
from foundation.errors import UserError

CONFIG = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 8, "GROUP_SIZE_M": 1}


def written(folder: Path, text: str, name: str = "sizes.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def mistake(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        read_sizes(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_sizes_are_read_in_either_format(tmp_path: Path) -> None:
    as_yaml = written(tmp_path, "- {M: 16, N: 24, K: 8}\n- M: 1\n  N: 2\n  K: 3\n  dtype: f16\n")
    sizes = [{"M": 16, "N": 24, "K": 8}, {"M": 1, "N": 2, "K": 3, "dtype": "f16"}]
    as_json = written(tmp_path, json.dumps(sizes, indent=2), "sizes.json")
    for path in (as_yaml, as_json):
        first, second = read_sizes(path)
        assert first.problem.name == "matmul-M16-N24-K8-fp32"
        assert second.problem.name == "matmul-M1-N2-K3-fp16"
        assert first.config is None


def test_command_goes_before_what_the_file_says(tmp_path: Path) -> None:
    path = written(tmp_path, "- {M: 16, N: 24, K: 8, kernel: matmul, dtype: f16}\n")
    (entry,) = read_sizes(path, kernel="split_k_matmul", dtype="i8")
    assert entry.problem.name == "split_k_matmul-M16-N24-K8-i8"


@pytest.mark.parametrize(
    ("text", "line", "key", "says"),
    [
        ("- {M: 16, N: 24, K: 8}\n- {M: -16, N: 24, K: 8}\n", 2, "M", "-16"),
        ("- M: 16\n  N: 24\n  K: eight\n", 3, "K", "eight"),
        ("- {M: 16, N: 24, K: 0}\n", 1, "K", "positive integer"),
        ("- {M: 16, N: true, K: 8}\n", 1, "N", "true"),
        ("- {M: 16, N: 2.5, K: 8}\n", 1, "N", "2.5"),
        ("- M: 16\n  N: [24]\n  K: 8\n", 2, "N", "a list"),
        ("- {M: 16, N: 24}\n", 1, "K", "add it"),
        ("- M: 16\n  N: 24\n  K: 8\n  Q: 8\n", 4, "Q", "not a key"),
        ("- M: 16\n  N: 24\n  K: 8\n  M: 8\n", 4, "M", "twice"),
        ("- {M: 16, N: 24, K: 8}\n- {M: 1, N: 2, K: 3, kernel: softmax}\n", 2, "softmax", "not M"),
        ("- {M: 1, N: 2, K: 3, kernel: matmull}\n", 1, "matmull", "did you mean matmul"),
        ("- M: 1\n  N: 2\n  K: 3\n  dtype: f13\n", 4, "f13", "did you mean"),
        ("- {M: 1, N: 2, K: 3, rowMajorB: N}\n", 1, "rowMajorB", "row-major"),
        ("- {M: 1, N: 2, K: 3, BLOCK_SIZE_M: 16}\n", 1, "BLOCK_SIZE_N", "add it"),
        ("- 12\n", 1, "12", "keys"),
        ("M: 16\n", 1, "not a list", "- for each"),
        ("- {M: 16\n- N: 8}\n", 2, "YAML", ""),
        ('[{"M": 16, "N": 24, "K": -1}]', 1, "K", "-1"),
        ("", 1, "not a list", ""),
    ],
)
def test_mistakes_name_file_line_and_key(
    tmp_path: Path, text: str, line: int, key: str, says: str
) -> None:
    path = written(tmp_path, text)
    said = mistake(path)
    assert f"{path}, line {line}: " in said
    assert key in said
    assert says in said


def test_file_that_is_not_there(tmp_path: Path) -> None:
    assert "No such file" in mistake(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    assert "not text" in mistake(tmp_path / "binary.yaml")


def test_results_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.yaml"
    record = {"M": 16, "N": 24, "K": 8, "rowMajorA": "T", "rowMajorB": "T", "kernel": "matmul"}
    record |= {"dtype": "bf16", "device": "emulated:x60", **CONFIG, "time_us": 1e-06, "runs": 1}
    record |= {"tflops": 0.125, "gb_per_s": 3.5, "max_abs_error": 1e-7, "elf_sha256": "0" * 64}
    write_results(path, [record, {**record, "M": 17}])
    assert len(path.read_text().splitlines()) == 2
    first, second = read_sizes(path)
    assert first.problem.name == "matmul-M16-N24-K8-bf16"
    assert first.config == CONFIG
    assert second.problem.shape["M"] == 17
    assert [file.name for file in path.parent.iterdir()] == ["results.yaml"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-m", "16", "-n", "16"], "give -m, -n and -k"),
        (["-m", "0", "-n", "16", "-k", "16"], "positive integer"),
        (["-m", "16", "-n", "16", "-k", "16", "--compare_wo_tuning"], "--gemm_size_file"),
        (["-m", "16", "--gemm_size_file", "sizes.yaml"], "leave out -m"),
        (["-m", "16", "-n", "16", "-k", "16", "--kernel", "softmax"], "softmax has no dimension K"),
    ],
)
def test_mistakes_in_the_command(arguments: list[str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        gemm.main(arguments)


def test_sizes_without_configuration_cannot_be_checked(tmp_path: Path) -> None:
    path = written(tmp_path, "- {M: 16, N: 24, K: 8}\n")
    with pytest.raises(UserError, match="line 1: this size has no configuration"):
        gemm.main(["--gemm_size_file", str(path), "--compare_wo_tuning"])

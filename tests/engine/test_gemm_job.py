"""Jobs on the emulated board: sizes tuned, written, read back, checked, and exported by ranges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from workers_here import working_here

from engine import gemm, tune_list
from engine.jobs.gemm_files import read_sizes
from engine.results.gemm_json import config_for, read_gemm_json

pytestmark = pytest.mark.usefixtures("workers_here")

SIZES = ["-m", "5", "-n", "16", "-k", "24"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def results(folder: Path) -> Path:
    """A file of results with one size, tuned in two trials."""
    path = folder / "results.yaml"
    with working_here(), pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        command = [*SIZES, "--trials", "2", "--jobs", "1", "--tuning_results_file", str(path)]
        assert gemm.main(command) == 0
    return path


def test_results_say_how_fast_the_winner_is(results: Path) -> None:
    (record,) = yaml.safe_load(results.read_text())
    time_s = record["time_us"] / 1e6
    assert record["tflops"] == pytest.approx(2 * 5 * 16 * 24 / time_s / 1e12, rel=1e-4)
    moved_bytes = 4 * (5 * 24 + 24 * 16 + 5 * 16)
    assert record["gb_per_s"] == pytest.approx(moved_bytes / time_s / 1e9, rel=1e-4)
    assert record["estimated"] is True
    assert record["runs"] == 1  # the board repeats itself to the bit
    assert record["tried"] == 2
    assert len(record["elf_sha256"]) == 64


def test_results_are_a_size_file_whose_study_goes_on(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--gemm_size_file", str(results), "--trials", "2", "--jobs", "1", "--compare"]
    assert gemm.main([*command, "--tuning_results_file", "again.yaml"]) == 0
    assert Path("again.yaml").read_text() == results.read_text()
    printed = capsys.readouterr()
    assert "M=5,N=16,K=24" in printed.out
    assert "checked: largest error " in printed.out
    assert "trial=" not in printed.err


def test_results_are_checked_without_tuning(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (entry,) = read_sizes(results)
    assert entry.config is not None
    record = yaml.safe_load(results.read_text())[0]
    # Triton's blocks are powers of two, so the second cannot be compiled.
    Path("check.yaml").write_text(yaml.safe_dump([record, {**record, "BLOCK_SIZE_K": 3}]))
    assert gemm.main(["--gemm_size_file", "check.yaml", "--compare_wo_tuning"]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert "M=5,N=16,K=24: correct: largest error" in first
    assert ": compile: " in second


def test_list_of_shapes_becomes_files_that_kernels_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("list.yaml").write_text(
        "kernel: gemm_a8w8_blockscale\n"
        "tag: A8W8\n"
        "output_dtype: fp16\n"
        "atol: 1e-2\n"
        "rtol: 1e-2\n"
        "shapes:\n"
        "  - {batch_sizes: [40, 8], N: 16, K: 32}\n"
    )
    assert tune_list.main(["list.yaml", "--trials", "2", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "Architecture: emulated:x60 (spacemit-x60, vectors of 256 bits)" in out
    assert "Running A8W8-N=16-K=32..." in out
    assert "M=40: search space size " in out
    path = Path("studies/configs/emulated-x60-GEMM-A8W8-N=16-K=32.json")
    found = read_gemm_json(path)
    assert set(found) == {"small", "medium_M64", "M_LEQ_8", "M_LEQ_64", "M_GEQ_32", "any"}
    assert read_gemm_json(Path("studies/configs/emulated-x60-GEMM-A8W8.json")) == found
    made_with = json.loads(path.with_suffix(".provenance.json").read_text())
    assert made_with["asked_of_outputs"] == {"dtype": "fp16", "atol": 0.01, "rtol": 0.01}
    assert sorted(record["M"] for record in made_with["shapes"]) == [8, 40]
    for record in made_with["shapes"]:
        config = config_for(found, record["M"])
        assert {name: record[name] for name in config} == config


def test_tolerances_of_a_list_are_what_outputs_are_held_to(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Sums of 64 products in fp32 differ from the exact ones in some last digit.
    Path("exact.yaml").write_text(
        "kernel: matmul\ntag: EXACT\natol: 0\nrtol: 0\n"
        "shapes:\n  - {batch_sizes: [8], N: 16, K: 64}\n"
    )
    assert tune_list.main(["exact.yaml", "--trials", "1", "--jobs", "1"]) == 1
    assert "M=8: search space size" in capsys.readouterr().out
    assert not list(Path("studies/configs").glob("*EXACT*"))

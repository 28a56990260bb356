"""Every output of studies that were tuned: matmul, softmax and a list, opened by its consumer."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pandas
import pytest
import triton
from test_c_library import run as run_in_qemu
from test_report import data_of
from workers_here import working_here

import engine
from engine import tune_list
from engine.audit import main as audit
from engine.explain import main as explain
from engine.export import main as export
from engine.report import main as report
from engine.results.exports import format_names
from engine.results.tuned_shape import UnfitStudyError
from engine.run.stored_summary import stored_summary
from engine.study.storage import read_studies, study_named
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from kernels.registry import load_kernel
from triton_rvv.codegen.zig import run_zig_cc

import_tables = importlib.import_module("engine.import").main

LIST = """\
kernel: matmul
tag: FP32
shapes:
  - {batch_sizes: [8, 24], N: 16, K: 16}
"""
FOR_GPUS = {"aiter", "helion", "inductor", "sglang", "tune-gemm", "vllm"}
STUDIES = ("matmul-M32-N64-K32", "softmax-M16-N64", "matmul-M8-N16-K16", "matmul-M24-N16-K16")
# Of the list's two, one is short.
EACH = (*STUDIES[:3], pytest.param(STUDIES[3], marks=pytest.mark.long))


@dataclass(frozen=True)
class Tuned:
    """A storage with four studies, and the folder of what is made of it."""

    storage: str
    out: Path

    def study(self, start: str) -> StoredTrials:
        """The study whose name begins so, with none of its trials read yet."""
        (name,) = (
            s.study_name for s in read_studies(self.storage) if s.study_name.startswith(start)
        )
        return study_named(self.storage, name)

    def exported(self, name: str, start: str, file: str) -> Path:
        """A file that a format wrote for one study."""
        study = self.study(start).study_name
        given = ["--storage", self.storage, "--out", str(self.out), "--format", name]
        assert export([study, *given]) == 0
        return self.out / study / file

    def trials(self, start: str) -> list[StoredTrial]:
        """Its trials with an outcome."""
        return [trial for trial in self.study(start).changes() if trial.has_outcome]

    def times_ms(self, start: str) -> dict[str, float]:
        """By the values of the parameters, of what was correct."""
        return times_ms(self.trials(start))


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    folder = tmp_path_factory.mktemp("real")
    (folder / "list.yaml").write_text(LIST)
    with working_here(), pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        engine.tune("matmul", shape={"M": 32, "N": 64, "K": 32}, trials=4, jobs=1)
        engine.tune("softmax", shape={"M": 16, "N": 64}, trials=2, jobs=1)
        assert tune_list.main(["list.yaml", "--trials", "2", "--jobs", "1"]) == 0
    return Tuned(str(folder / "studies" / "tuner.journal"), folder / "out")


def times_ms(trials: Sequence[StoredTrial]) -> dict[str, float]:
    return {
        ",".join(map(str, trial.config.values())): 1e3 * trial.time_s
        for trial in trials
        if trial.time_s is not None
    }


def module_from(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("start", EACH)
def test_tables_hold_every_trial(tuned: Tuned, start: str) -> None:
    trials = tuned.trials(start)
    tables = [pandas.read_csv(tuned.exported("csv", start, "trials.csv"))]
    if importlib.util.find_spec("pyarrow") is not None:
        tables.append(pandas.read_parquet(tuned.exported("parquet", start, "trials.parquet")))
    for table in tables:
        assert list(table["number"]) == [trial.number for trial in trials]
        timed = table[table["time_s"].notna()]
        names = list(trials[0].config)
        found = {
            ",".join(map(str, row[:-1])): 1e3 * row[-1]
            for row in timed[[*names, "time_s"]].itertuples(index=False)
        }
        assert found == pytest.approx(times_ms(trials), rel=1e-12)
        assert timed["estimated"].all()
        assert (timed["counter.u_mode_cycle"] > 0).all()
    assert tuned.exported("csv", start, "high_correlations.csv").is_file()


@pytest.mark.parametrize("start", EACH)
def test_triton_takes_the_fastest_with_the_winner_first(tuned: Tuned, start: str) -> None:
    configs = module_from(tuned.exported("triton", start, "triton_configs.py")).CONFIGS
    kernel = load_kernel(start.partition("-")[0]).kernel
    tuner = triton.autotune(configs=configs, key=[])(kernel)
    assert isinstance(tuner, triton.runtime.Autotuner)
    winner = stored_summary(tuned.study(start), tuned.trials(start)).winner
    assert configs[0].kwargs == dict(winner.config)
    times = tuned.times_ms(start)
    assert len(configs) == min(5, len(times))
    assert all(",".join(map(str, config.kwargs.values())) in times for config in configs)


@pytest.mark.parametrize("start", EACH)
def test_kernel_tuner_simulates_every_study(
    tuned: Tuned, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    interface = pytest.importorskip(
        "kernel_tuner.interface", reason="kernel_tuner is not installed"
    )
    path = tuned.exported("t1", start, "t1.json")
    monkeypatch.chdir(path.parent)
    rows, _ = interface.tune_kernel_T1(path, simulation_mode=True, output_T4=False)
    names = list(tuned.trials(start)[0].config)
    found = {
        ",".join(str(row[name]) for name in names): row["time"]
        for row in rows
        if "__error__" not in row
    }
    assert found == pytest.approx(tuned.times_ms(start))


@pytest.mark.parametrize("start", EACH)
def test_t4_is_as_its_schema_says(tuned: Tuned, start: str) -> None:
    files = pytest.importorskip("kernel_tuner.file_utils", reason="kernel_tuner is not installed")
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(tuned.exported("t4", start, "t4.json").read_text())
    jsonschema.validate(document, files.output_file_schema("results")[1])
    assert len(document["results"]) == len(tuned.trials(start))


@pytest.mark.parametrize("start", EACH)
def test_a_cache_passes_the_audit_and_starts_a_search(
    tuned: Tuned, start: str, tmp_path: Path
) -> None:
    cache = tuned.exported("kernel-tuner", start, "kernel_tuner_cache.json")
    assert audit([str(cache), "--storage", tuned.storage]) == 0
    storage = str(tmp_path / "imported.journal")
    assert import_tables([str(cache), "--storage", storage]) == 0
    (imported,) = read_studies(storage)
    trials = [trial for trial in imported.changes() if trial.has_outcome]
    assert times_ms(trials) == pytest.approx(tuned.times_ms(start))


def test_formats_for_gpus_say_so(tuned: Tuned, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(format_names()) - FOR_GPUS == {
        *("c", "csv", "kernel-tuner", "parquet", "t1", "t4", "triton")
    }
    given = ["--storage", tuned.storage, "--out", str(tuned.out)]
    for name in sorted(FOR_GPUS):
        assert export(["--format", name, *given]) == 1
        said = capsys.readouterr().err.splitlines()
        left_out = [line for line in said if not line.startswith("stage=")]
        assert len(left_out) == 4
        assert all(" GPUs only: give a study" in line for line in left_out)
        with pytest.raises(UnfitStudyError, match="was measured on emulated:x60"):
            export([tuned.study("softmax").study_name, "--format", name, *given])


def test_the_list_is_what_its_job_wrote(tuned: Tuned) -> None:
    (path,) = Path(tuned.storage).parent.glob("configs/*GEMM*N=16-K=16.json")
    assert audit([str(path), "--storage", tuned.storage]) == 0


@pytest.mark.long
def test_a_program_links_the_library_of_all(tuned: Tuned, tmp_path: Path) -> None:
    given = ["--storage", tuned.storage, "--out", str(tmp_path), "--format", "c"]
    assert export(given) == 0
    (tmp_path / "sum.c").write_text(
        """
#include <stdio.h>
#include "tuned.h"
int main(void) {
    static float a[8 * 16], b[16 * 16], c[8 * 16], y[8 * 16];
    for (int i = 0; i < 8 * 16; i++)
        a[i] = (float)(i % 7);
    for (int i = 0; i < 16; i++)
        b[i * 16 + i] = 2;
    int status = tuned_matmul_fp32(8, 16, 16, a, 16, b, 16, c, 16, 1);
    if (status == TUNED_OK)
        status = tuned_softmax_fp32(8, 16, c, 16, y, 16, 2);
    float sum = 0;
    for (int i = 0; i < 8 * 16; i++)
        sum += y[i];
    printf("%s: %g %.3f\\n", tuned_message(status), c[8 * 16 - 1], sum);
}
"""
    )
    library = tmp_path / "c"
    link = [f"-I{library / 'include'}", f"-L{library / 'lib'}", "-ltuned", "-static"]
    program = tmp_path / "program"
    run_zig_cc([str(tmp_path / "sum.c"), *link, "-o", str(program)], timeout_s=200)
    assert run_in_qemu(program).stdout == f"no error: {2 * (127 % 7)} 8.000\n"
    assert b"tuned at M=24,N=16,K=16: " in program.read_bytes()


def test_pages_hold_the_figures_of_the_tables(tuned: Tuned, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for starts in (STUDIES[1:2], STUDIES[2:]):
        names = [tuned.study(start).study_name for start in starts]
        assert report([*names, "--storage", tuned.storage, "--out", str(page)]) == 0
        text = page.read_text()
        assert "not a measurement" in text
        for start, rows in zip(starts, data_of(text)["trials"], strict=True):
            found = [row["time_ms"] for row in rows]
            assert found == pytest.approx(list(tuned.times_ms(start).values()))


@pytest.mark.parametrize("start", [pytest.param(STUDIES[0], marks=pytest.mark.long), STUDIES[1]])
def test_the_cycles_are_explained(
    tuned: Tuned, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain([tuned.study(start).study_name, "--storage", tuned.storage]) == 0
    assert "estimated" in capsys.readouterr().out

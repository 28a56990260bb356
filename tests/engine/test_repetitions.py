"""Repetitions of a search: a study for each seed, and what studies say of where they come from."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from command_here import run_here
from search_helpers import IDENTITY, SPACE, run

from engine.export import main as export
from engine.run.made_by import OpenProposals, keep_run, runs_of, sampler_digest
from engine.search import Search
from engine.study.identity import SAMPLER, SEED, StudyIdentity
from engine.study.robust_changes import keep_change, note_on_changes
from engine.study.storage import open_study, read_studies, study_named
from foundation.errors import UserError
from foundation.version import project_version
from rvv_runner.devices import load_board

COMMAND = ("vector_add", "--shape", "N=1000", "--trials", "4", "--no-history", "--no-report")


@pytest.fixture(params=["t.journal", "sqlite:///{}/t.db"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    place = request.param.format(tmp_path)
    return place if "://" in place else str(tmp_path / place)


def search_of(storage: str, identity: StudyIdentity, name: str | None = None) -> Search:
    trials = open_study(storage, identity, SPACE, name)
    return Search(SPACE, identity.sampler, identity.seed, trials)


def test_another_seed_is_another_study_and_the_default_keeps_its_name(storage: str) -> None:
    second = replace(IDENTITY, seed=2)
    assert second.name == IDENTITY.name.replace("-tpe-", "-tpe-seed2-")
    asked = [list(run(search_of(storage, each), 8)) for each in (IDENTITY, second)]
    assert asked[0] != asked[1]
    assert [search_of(storage, identity).tried for identity in (IDENTITY, second)] == [8, 8]
    stored = {study.study_name: study for study in read_studies(storage)}
    assert {name: study.attribute(SEED) for name, study in stored.items()} == {
        IDENTITY.name: 0,
        second.name: 2,
    }
    assert stored[second.name].attribute(SAMPLER) == "tpe"
    assert IDENTITY.other_parts(second.name, second.attributes()) == ()


@pytest.mark.parametrize(
    ("change", "options"),
    [({"seed": 2}, "--sampler tpe --seed 2"), ({"sampler": "random"}, "--sampler random --seed 0")],
)
def test_a_named_study_is_of_one_seed_and_sampler(
    storage: str, change: dict[str, Any], options: str
) -> None:
    list(run(search_of(storage, IDENTITY, "mine"), 3))
    sentence = f"mine are by --sampler tpe --seed 0, not {options}: give these, or --study a new"
    with pytest.raises(UserError, match=sentence):
        open_study(storage, replace(IDENTITY, **change), SPACE, "mine")
    assert search_of(storage, IDENTITY, "mine").tried == 3


def test_of_an_earlier_versions_study_nobody_knows_the_seed(tmp_path: Path) -> None:
    recorded = Path(__file__).with_name("recorded") / "vector_add.journal"
    storage = str(shutil.copy(recorded, tmp_path))
    (study,) = read_studies(storage)
    made_with: Any = study.attribute("made_with")
    identity = StudyIdentity("vector_add", {"N": 1000}, "fp32", "emulated:x60", "gp", made_with)
    opened = open_study(storage, replace(identity, seed=3), SPACE, study.study_name)
    assert opened.attribute(SEED) is opened.attribute(SAMPLER) is None
    assert export(["--storage", storage, "--out", str(tmp_path / "out")]) == 0
    (table,) = (tmp_path / "out").glob("*/trials.csv")
    (head, *_) = csv.reader(table.open())
    assert "study.kernel" in head
    assert "study.seed" not in head


def test_trials_for_another_objective_are_said(storage: str) -> None:
    search = search_of(storage, IDENTITY)
    stored = study_named(storage, IDENTITY.name)
    keep_change(stored, "mean", "worst")  # before the first trial nothing was proposed for it
    assert note_on_changes(stored, "worst") == ()
    list(run(search, 3))
    stored = study_named(storage, IDENTITY.name)
    keep_change(stored, "worst", "off")
    (note,) = note_on_changes(study_named(storage, IDENTITY.name), "off")
    assert "trials up to 3 for the worst loss, and later ones for the time under" in note
    list(run(search_of(storage, IDENTITY), 5))
    keep_change(study_named(storage, IDENTITY.name), "off", "mean")
    (note,) = note_on_changes(study_named(storage, IDENTITY.name), "mean")
    assert "up to 3 for the worst loss, to 5 for the time under the default model, and" in note


def test_each_run_that_differs_from_the_one_before_is_kept(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    info = load_board("host").info
    for jobs, trials in ((2, 3), (2, 6), (4, 8)):
        stored = open_study(storage, IDENTITY, SPACE)
        keep_run(stored, "tpe", SPACE, 9, OpenProposals(jobs, 1), info)
        list(run(search_of(storage, IDENTITY), trials))
    runs = runs_of(study_named(storage, IDENTITY.name))
    assert [(each["jobs"], each["from_trial"]) for each in runs] == [(2, 0), (4, 6)]
    assert export(["--storage", storage, "--out", "out"]) == 0
    (row, *_) = csv.DictReader((Path("out") / IDENTITY.name / "trials.csv").open())
    assert (row["study.jobs"], row["study.from_trial"]) == ("2; 4", "0; 6")
    assert row["study.configurations"] == "9"
    # A value less, as after an edit of the file.
    first, *others = SPACE.parameters
    fewer = replace(SPACE, parameters=(replace(first, values=first.values[1:]), *others))
    keep_run(open_study(storage, IDENTITY, SPACE), "tpe", fewer, 9, OpenProposals(4, 1), info)
    digests = [each["space_digest"] for each in runs_of(study_named(storage, IDENTITY.name))]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.usefixtures("ray_for_tests")
def test_two_seeds_search_apart_and_the_exports_say_whose_each_trial_is(tmp_path: Path) -> None:
    records = []
    for seed in (1, 2):
        done = run_here(tmp_path, "tune", *COMMAND, "--seed", str(seed), "--json")
        assert done.returncode == 0, done.stderr
        records.append(json.loads(done.stdout))
    assert [record["measured_in_this_run"] for record in records] == [4, 4]
    assert [record["seed"] for record in records] == [1, 2]
    assert all(f"-seed{record['seed']}-" in record["study"] for record in records)
    done = run_here(tmp_path, "tune", *COMMAND, "--seed", "2", "--robust", "worst")
    assert "note=the study's trials up to 4 for the weighted mean loss, and later" in done.stdout
    for name in ("csv", "t4", "kernel-tuner"):
        assert run_here(tmp_path, "export", "--format", name, "--out", "out").returncode == 0
    for record in records:
        folder = tmp_path / "out" / record["study"]
        rows = list(csv.DictReader((folder / "trials.csv").open()))
        assert {row["study.seed"] for row in rows} == {str(record["seed"])}
        assert {row["study.name"] for row in rows} == {record["study"]}
        assert {row["study.shape"] for row in rows} == {"N=1000"}
        assert all(row["begun_at"] < row["ended_at"] for row in rows)
        assert all(float(row["build_s"]) > 0 for row in rows)
        assert rows[0]["time_s under default"] == rows[0]["time_s"]
        assert len([name for name in rows[0] if name.startswith("time_s under ")]) > 1
        t4 = json.loads((folder / "t4.json").read_text())
        cache = json.loads((folder / "kernel_tuner_cache.json").read_text())
        about = t4["metadata"]
        assert cache["tuner"] == {n: value for n, value in about.items() if n != "timeunit"}
        assert about["seed"] == record["seed"]
        assert about["sampler"] == "auto"
        assert about["begun_with"] == project_version()
        assert about["optuna"] == optuna.__version__
        assert {"compiler", "board model", "kernel source"} <= about["made_with"].keys()
        (run,) = about["runs"]
        assert run == record["runs"][0]
        assert run["from_trial"] == 0
        for name in ("jobs", "boards"):
            assert {row[f"study.{name}"] for row in rows} == {str(run[name])}
        assert {row["study.sampler_digest"] for row in rows} == {sampler_digest()}
        for name in ("qemu", "llvm", "llvmlite", "torch", "optuna", "triton", "python"):
            assert rows[0][f"study.{name}"] == run["versions"][name] > ""
        assert all(float(row["measure_step_s"]) > 0 for row in rows)
        loss = {1: "weighted_mean_loss", 2: "worst_loss"}[record["seed"]]
        assert about["objectives"] == t4["results"][0]["objectives"] == [loss]
        measured = {m["name"]: m["value"] for m in t4["results"][0]["measurements"]}
        assert measured[loss] == pytest.approx(float(rows[0][loss]))
        assert rows[0]["study.compiler"] == about["made_with"]["compiler"]
        assert t4["results"][0]["timestamp"] == rows[0]["ended_at"]

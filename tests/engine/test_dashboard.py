"""Stored studies as optuna-dashboard and Optuna itself show them, and those of earlier versions."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from search_helpers import IDENTITY, SPACE, optuna_storage, run, search_in, time_of

from engine.run.outcome import Outcome
from engine.search import Search
from engine.study.storage import open_study
from foundation.errors import UserError
from rvv_runner.measurement import Measurement
from search_spaces.space import Parameter, SearchSpace

NOTE = "# why\n" + 1000 * "long "  # more than one part


@pytest.fixture
def dashboard_of(tmp_path: Path) -> Iterator[object]:
    """Starts optuna-dashboard on a storage; gives a function that asks its interface."""
    started: list[subprocess.Popen[bytes]] = []

    def start(storage: str) -> object:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        program = Path(sys.executable).parent / "optuna-dashboard"
        options = ["--host", "127.0.0.1", "--port", str(port), "--artifact-dir"]
        log = (tmp_path / "dashboard.log").open("wb")
        started.append(
            subprocess.Popen(
                [program, storage, *options, tmp_path / "artifacts"], stdout=log, stderr=log
            )
        )
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline:
            try:
                return _ask_json(port, "studies") and (lambda path: _ask_json(port, path))
            except OSError:
                time.sleep(0.1)
        raise AssertionError((tmp_path / "dashboard.log").read_text())

    yield start
    for process in started:
        process.terminate()
        process.wait(timeout=200)


@pytest.mark.parametrize(
    "storage", ["journal", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)
def test_optuna_dashboard_shows_the_study(storage: str, tmp_path: Path, dashboard_of) -> None:
    assembly = tmp_path / "kernel.s"
    assembly.write_text("vfmacc.vf v8, fa0, v16\n")
    search = search_in(storage)
    for _ in range(3):
        config = search.ask()
        counters = {"counters": {"vector_inst": 7.0}}
        search.tell(config, time_of(config), attributes=counters, note=NOTE, files=[assembly])
    ask = dashboard_of(storage)
    [study] = ask("studies")["study_summaries"]
    assert study["study_name"] == IDENTITY.name
    detail = ask(f"studies/{study['study_id']}?after=0")
    assert [trial["state"] for trial in detail["trials"]] == ["Complete"] * 3
    assert [trial["values"] for trial in detail["trials"]] == [[t.time_s] for t in search.trials()]
    trial = detail["trials"][0]
    assert {entry["key"] for entry in trial["user_attrs"]} == {"status"}
    assert [t.attributes["counters"] for t in search.trials()] == [{"vector_inst": 7.0}] * 3
    assert trial["note"]["body"] == NOTE
    assert detail["objective_names"] == ["time_s"]
    [artifact] = trial["artifacts"]
    assert artifact["filename"] == "kernel.s"
    assert (tmp_path / "artifacts" / artifact["artifact_id"]).read_text() == assembly.read_text()


@pytest.mark.long
@pytest.mark.parametrize("storage", ["journal"], indirect=True)
def test_optuna_dashboard_says_why_a_trial_has_no_time(storage: str, dashboard_of) -> None:
    stored = open_study(storage, IDENTITY, SPACE)
    search = Search(SPACE, "random", 0, stored)
    search.tell(search.ask(), None, status="compile", attributes={"reason": "it has no loop"})
    rule = SPACE.constraints[0]
    stored.forbid(next(SPACE.valid_configs()), rule, SPACE)
    search.ask()
    dead = json.dumps({"host": socket.gethostname(), "boot_id": "", "pid": 1, "start_ticks": 0})
    raw = _optuna_study(storage)
    raw._storage.set_trial_system_attr(raw.trials[-1]._trial_id, "tuner:owner", json.loads(dead))
    open_study(storage, IDENTITY, SPACE)
    ask = dashboard_of(storage)
    [study] = ask("studies")["study_summaries"]
    trials = ask(f"studies/{study['study_id']}?after=0")["trials"]
    assert [(trial["state"], trial["note"]["body"]) for trial in trials] == [
        ("Fail", "**compile** it has no loop"),
        ("Pruned", f"**pruned** {rule.name}: {rule.reason}"),
        ("Fail", "**board** its process died"),
    ]


def test_a_note_has_every_digit_of_a_counter() -> None:
    counters = {"u_mode_cycle": 14035417.0, "cycles": 17716497.6, "share": 0.25}
    note = Outcome(Measurement("correct", (1e-3,), counters, board="b")).note()
    assert "| u_mode_cycle | 14,035,417 |\n| cycles | 17,716,498 |\n| share | 0.25 |" in note


def test_powers_of_two_have_a_logarithmic_axis(storage: str) -> None:
    list(run(search_in(storage), 2))
    found = _optuna_study(storage).trials[0].distributions
    assert [name for name, kind in found.items() if getattr(kind, "log", False)] == [
        "ROWS",
        "COLUMNS",
    ]


def test_a_study_of_an_earlier_version_is_gone_on_with(storage: str) -> None:
    """Axes were linear, no metric had a name, and every attribute was a user attribute."""
    opened = optuna_storage(storage)
    study = optuna.create_study(study_name=IDENTITY.name, storage=opened)
    for name, value in IDENTITY.attributes().items():
        study.set_user_attr(name, value)
    config = SPACE.default
    kinds = {
        "ROWS": optuna.distributions.IntDistribution(2, 16),
        "COLUMNS": optuna.distributions.IntDistribution(2, 32),
        "UNROLLED": optuna.distributions.CategoricalDistribution((False, True)),
        "ORDER": optuna.distributions.CategoricalDistribution(("rows", "columns", "blocks")),
    }
    study.add_trial(
        optuna.trial.create_trial(
            params=dict(config),
            distributions=kinds,
            values=[0.5],
            user_attrs={"status": "correct", "counters": {"cycles": 3.0}, "times_s": [0.5]},
        )
    )
    search = search_in(storage)
    assert len(list(run(search, 4))) == 3
    [old, *new] = search_in(storage).trials()
    assert (old.config, old.time_s, old.times_s) == (config, 0.5, (0.5,))
    assert old.attributes["counters"] == {"cycles": 3.0}
    assert len(new) == 3
    resumed = _optuna_study(storage)
    assert resumed.metric_names == ["time_s"]
    assert [trial.distributions for trial in resumed.trials] == [kinds] * 4


def test_a_value_without_a_place_on_a_logarithmic_axis_is_one_sentence(storage: str) -> None:
    one, two = (SearchSpace((Parameter("block", values),)) for values in ((1, 2, 4), (0, 1, 2)))
    search = Search(one, "grid", 0, open_study(storage, IDENTITY, one))
    search.tell(search.ask(), 0.5)
    search = Search(two, "grid", 0, open_study(storage, IDENTITY, two))
    with pytest.raises(UserError, match="logarithmic axis for block, which 0 has no place on"):
        search.ask()


def _optuna_study(storage: str) -> optuna.Study:
    return optuna.load_study(study_name=IDENTITY.name, storage=optuna_storage(storage))


def _ask_json(port: int, path: str) -> object:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/{path}", timeout=200) as answer:
        return json.load(answer)

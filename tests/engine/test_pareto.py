"""Several objectives: the front, what samplers see of it, and studies that look for one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import optuna
import pytest
from search_helpers import IDENTITY, SPACE, time_of

import engine.tune as tune_command
from engine.results.front import front_lines
from engine.run.summary import summarise
from engine.search import Search
from engine.search.model.acquisition import expected_hypervolume_improvement
from engine.study.history import history_of
from engine.study.objectives import CODE_BYTES, TIME_S, front
from engine.study.storage import open_study
from engine.study.trials import StoredTrials
from engine.winners.stored import stored_studies
from foundation.config import Config
from foundation.errors import UserError

BOTH = (TIME_S, CODE_BYTES)
TWO = replace(IDENTITY, objectives=BOTH)


@pytest.fixture(params=["auto", "spread", "grid", "random"])
def sampler(request: pytest.FixtureRequest) -> str:
    return request.param


def code_of(config: Config) -> int:
    """Smallest where the time is long."""
    return int(100 * config["ROWS"] + 10 * config["COLUMNS"] + 400 * config["UNROLLED"])


def run(search: Search, trials: int) -> Iterator[Config]:
    """Ask and tell; what is unrolled and not in blocks fails."""
    while search.tried < trials and (config := search.ask()) is not None:
        fails = config["UNROLLED"] and config["ORDER"] != "blocks"
        time_s = None if fails else time_of(config)
        search.tell(config, time_s, attributes={CODE_BYTES: code_of(config)})
        yield config


def two(sampler: str = "auto", seed: int = 0) -> Search:
    return Search(SPACE, sampler, seed, StoredTrials.in_memory(BOTH))


def test_the_front_is_optunas() -> None:
    study = optuna.create_study(directions=["minimize"] * 2)
    points = [tuple(map(float, p)) for p in np.random.default_rng(0).integers(1, 20, (60, 2))]
    points += points[:10]  # equal ones are all on the front, or none of them
    for point in points:
        study.add_trial(optuna.create_trial(values=point))
    assert sorted(trial.number for trial in study.best_trials) == front(points)
    assert 0 < len(front(points)) < len(points)
    assert front([]) == []


def test_the_expected_gain_in_hypervolume_is_the_mean_over_chance() -> None:
    rng = np.random.default_rng(5)
    edge = np.array([(-1.0, 0.8), (0.2, -0.3), (0.9, -1.1), (0.9, -1.1)])
    reference = np.array([1.5, 1.2])
    mean, deviation = np.array([(-0.2, -0.4), (1.0, 1.0), (-1.5, 0.5)]), np.full((3, 2), 0.6)
    drawn = rng.normal(size=(4000, 2))
    exact = expected_hypervolume_improvement(mean, deviation, edge, reference)
    for place in range(3):
        points = mean[place] + deviation[place] * drawn
        gains = _area_gained(points, edge[:3], reference)
        error = gains.std() / len(gains) ** 0.5
        assert exact[place] == pytest.approx(gains.mean(), abs=4 * error)


def _area_gained(points: np.ndarray, edge: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """What each point dominates below the reference and the edge does not, by a fine grid."""
    lowest = -4.0
    us = np.linspace(lowest, reference[0], 1101)
    heights = np.full(len(us) - 1, reference[1])
    for u, v in edge:
        heights[us[:-1] >= u - 1e-12] = np.minimum(heights[us[:-1] >= u - 1e-12], v)
    widths = np.diff(us)
    return np.array(
        [(widths * (us[:-1] >= u) * np.maximum(heights - v, 0)).sum() for u, v in points]
    )


def test_what_is_beaten_in_both_gains_less() -> None:
    mean = np.array([(0.0, 0.0), (0.1, 0.2), (0.0, 0.3)])
    gains = expected_hypervolume_improvement(
        mean, np.full((3, 2), 0.1), np.array([(-1.0, 1.0), (1.0, -1.0)]), np.array([2.0, 2.0])
    )
    assert gains[0] > max(gains[1:])


def test_every_configuration_comes_once(sampler: str) -> None:
    asked = list(run(two(sampler), 10_000))
    assert len(asked) == len(set(asked)) == len(list(SPACE.valid_configs()))


@pytest.mark.parametrize(
    "sampler", [pytest.param("auto", marks=pytest.mark.long), "spread", "grid", "random"]
)
def test_a_resumed_study_goes_on_as_if_it_had_not_stopped(sampler: str, tmp_path: Path) -> None:
    whole = list(run(two(sampler, 2), 60))
    assert whole == list(run(two(sampler, 2), 60))
    parts: list[Config] = []
    for upto in (7, 45, 60):  # from 40 on, models are not fitted each time
        stored = open_study(str(tmp_path / "j.journal"), TWO, SPACE)
        parts += run(Search(SPACE, sampler, 2, stored), upto)
    assert parts == whole


def test_the_model_learns_both_objectives() -> None:
    configs = [c for c in SPACE.valid_configs() if not c["UNROLLED"] or c["ORDER"] == "blocks"]
    points = [(time_of(config), float(code_of(config))) for config in configs]
    whole = {points[place] for place in front(points)}

    def share(sampler: str) -> float:
        """Of the front that 30 trials find, on average."""
        tried = [{(time_of(c), code_of(c)) for c in run(two(sampler, seed), 30)} for seed in (0, 1)]
        return sum(len(whole & points) for points in tried) / len(tried) / len(whole)

    assert share("auto") > 0.8
    assert share("random") < 0.5


@pytest.mark.parametrize("name", ["tpe", "gp", "optuna.samplers.NSGAIISampler", "nonesuch"])
def test_a_sampler_that_looks_at_the_time_alone_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="auto, spread, grid, random"):
        two(name)


def test_a_time_without_the_other_objective_is_a_mistake_of_the_program() -> None:
    search = two()
    config = search.ask()
    with pytest.raises(ValueError, match="no code_bytes"):
        search.tell(config, 1.0)
    search.tell(config, None)


@pytest.mark.parametrize(("made", "asked"), [(TWO, IDENTITY), (IDENTITY, TWO)])
def test_a_study_with_other_objectives_is_refused(made, asked, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 't.db'}"
    assert TWO.name != IDENTITY.name
    assert IDENTITY.other_parts(TWO.name, TWO.attributes()) == ()
    open_study(storage, made, SPACE, "mine")
    with pytest.raises(UserError, match=r"the study mine has \d objectives, not \d"):
        open_study(storage, asked, SPACE, "mine")
    assert open_study(storage, made, SPACE, "mine").objectives == made.objectives


def test_a_study_with_two_objectives_is_history_and_has_a_winner(tmp_path: Path) -> None:
    storage = str(tmp_path / "j.journal")
    search = Search(SPACE, "auto", 0, open_study(storage, TWO, SPACE))
    list(run(search, 20))
    past = history_of(open_study(storage, IDENTITY, SPACE), IDENTITY, SPACE)
    (study,) = (study for study in stored_studies(storage) if study.name == TWO.name)
    winner = study.winner(SPACE)
    assert search.best() == past.trials[0] == (winner.config, winner.time_s)


def test_the_front_is_printed_with_what_it_is_over_the_default() -> None:
    search = two()
    list(run(search, 20))
    summary = summarise(search.trials(), SPACE.default)
    assert summary.front[0].config == summary.winner.config
    sizes = [trial.code_bytes for trial in summary.front]
    assert sizes == sorted(sizes, reverse=True)
    fields = dict(field.split("=", 1) for field in front_lines(summary)[-1].split("\t"))
    last, default = summary.front[-1], SPACE.default
    assert float(fields["time_over_default"]) == pytest.approx(
        last.time_s / time_of(default), abs=1e-4
    )
    assert float(fields["code_over_default"]) == pytest.approx(
        code_of(last.config) / code_of(default), abs=1e-4
    )


@pytest.mark.long
@pytest.mark.usefixtures("ray_for_tests")
def test_the_command_finds_a_front_and_measures_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    storage = f"sqlite:///{tmp_path / 't.db'}"
    command = ["matmul", "--shape", "M=32,N=64,K=32", "--trials", "3"]
    command += ["--objective", "time_s,code_bytes", "--storage", storage]
    command += ["--jobs", "1", "--json"]
    assert tune_command.main(command) == 0
    record = json.loads(capsys.readouterr().out)
    found = [(trial["time_s"], trial["code_bytes"]) for trial in record["front"]]
    study = optuna.load_study(study_name=record["study"], storage=storage)
    assert study.metric_names == list(BOTH)
    assert found == sorted((t.values[0], t.values[1]) for t in study.best_trials)
    assert found[0][0] == record["winner"]["time_s"]
    for trial in record["front"]:
        assert 0 < trial["code_bytes"] < Path(tmp_path, trial["elf_path"]).stat().st_size / 10
    assert tune_command.main(command) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["measured_in_this_run"] == 0
    assert again["front"] == record["front"]


def test_convergence_of_the_time_does_not_end_the_search_for_a_front() -> None:
    with pytest.raises(UserError, match=r"^--until converged minimises the time alone"):
        tune_command.main(["matmul", "--objective", "time_s,code_bytes", "--until", "converged"])

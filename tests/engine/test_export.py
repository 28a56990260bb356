"""Studies as tables, and the counters that correlate with run time."""

from __future__ import annotations

import pandas
import pytest

from engine.export import main
from engine.results.trials_table import correlations
from engine.search import Search
from engine.study.storage import StudyIdentity, open_study
from foundation.errors import UserError
from search_spaces.space import Parameter, SearchSpace

SPACE = SearchSpace((Parameter("BLOCK", (1, 2, 4, 8, 16, 32)),))
IDENTITY = StudyIdentity("k", {"N": 8}, "fp32", "board", "tpe", {"compiler": "c"})


@pytest.fixture
def storage(tmp_path):
    """A study in which cycles follow the time, misses go against it, and the rest does not."""
    name = str(tmp_path / "study.journal")
    search = Search(SPACE, "random", trials=open_study(name, IDENTITY, SPACE))
    while (config := search.ask()) is not None:
        block = config["BLOCK"]
        if block == 32:
            search.tell(config, None, status="wrong", attributes={"reason": "out[0] is 1"})
            continue
        counters = {"cycles": 2e3 * block, "misses": -block, "same": 7, "odd": (block * 37) % 11}
        attributes = {"counters": counters, "board": "b"}
        search.tell(config, block * 1e-3, attributes=attributes)
    return name


def test_trials_and_correlations(storage, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["--storage", storage, "--out", str(out)]) == 0
    (folder,) = out.iterdir()
    trials = pandas.read_csv(folder / "trials.csv")
    assert sorted(trials["BLOCK"]) == [1, 2, 4, 8, 16, 32]
    wrong = trials[trials["status"] == "wrong"].iloc[0]
    assert wrong["BLOCK"] == 32
    assert pandas.isna(wrong["time_s"])
    assert pandas.isna(wrong["counter.cycles"])
    high = pandas.read_csv(folder / "high_correlations.csv")
    assert dict(zip(high["event"], high["correlation"].round(6), strict=True)) == {
        "cycles": 1.0,
        "misses": -1.0,
    }
    assert set(high["trials"]) == {5}
    assert "6 trials, 2 of 3 counters" in capsys.readouterr().out


def test_few_trials_say_nothing():
    table = pandas.DataFrame({"time_s": [1.0, 2.0, 3.0, None], "counter.x": [1.0, 2.0, 3.0, 4.0]})
    assert correlations(table).empty


def test_a_study_that_is_not_there(storage, tmp_path):
    with pytest.raises(UserError, match="there is no study nothing"):
        main(["--storage", storage, "--study", "nothing", "--out", str(tmp_path)])
    with pytest.raises(UserError, match="holds no study"):
        main(["--storage", str(tmp_path / "none.journal"), "--study", "x"])
    assert main(["--storage", str(tmp_path / "none.journal"), "--out", str(tmp_path)]) == 1

"""Studies as tables, and the counters that correlate with run time."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import json
import re
from pathlib import Path

import pandas
import pytest
import triton

from engine.export import main
from engine.results.exports import format_names
from engine.results.trials_table import correlations
from engine.search import Search
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from foundation.errors import UserError
from rvv_runner.board import BoardError
from search_spaces.space import Parameter, SearchSpace

REPOSITORY = Path(__file__).resolve().parents[2]
SPACE = SearchSpace((Parameter("BLOCK", (1, 2, 4, 8, 16, 32)),))
STEPS = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")
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
    names = [folder.name, folder.name[2:]]  # of one study
    assert main([*names, "--storage", storage, "--out", str(out)]) == 0
    assert capsys.readouterr().out.count("6 trials") == 1


def test_few_trials_say_nothing():
    table = pandas.DataFrame({"time_s": [1.0, 2.0, 3.0, None], "counter.x": [1.0, 2.0, 3.0, 4.0]})
    assert correlations(table).empty


def test_a_study_that_is_not_there(storage, tmp_path):
    with pytest.raises(UserError, match="there is no study nothing"):
        main(["nothing", "--storage", storage, "--out", str(tmp_path)])
    with pytest.raises(UserError, match="holds no study"):
        main(["x", "--storage", str(tmp_path / "none.journal")])
    assert main(["--storage", str(tmp_path / "none.journal"), "--out", str(tmp_path)]) == 1


def test_only_studies_of_a_device(tmp_path):
    storage = str(tmp_path / "study.journal")
    devices = ("emulated:x60", "emulated:x60@4cores", "emulated:c908", "NVIDIA X")
    for device in devices:
        identity = dataclasses.replace(IDENTITY, device=device)
        search = Search(SPACE, "random", trials=open_study(storage, identity, SPACE))
        search.tell(search.ask(), 1e-3)

    def written(device):
        out = tmp_path / device.replace(" ", "")
        assert main(["--storage", storage, "--out", str(out), "--device", device]) == 0
        return sorted(folder.name[10:].partition("-tpe-")[0] for folder in out.iterdir())

    assert written("emulated") == ["emulated-x60", "emulated-x60@4cores"]
    assert written("emulated:x60@4cores") == ["emulated-x60@4cores"]
    assert written("emulated:x60@1cores") == ["emulated-x60"]
    assert written("NVIDIA X") == ["NVIDIA X"]  # as studies have it, which has no board here
    with pytest.raises(UserError, match=r"no study is of emulated:a100: .*c908, emulated:x60"):
        written("emulated:a100")
    with pytest.raises(BoardError, match="no emulated core named emulated:x61"):
        written("emulated:x61")


def exported(storage, tmp_path, name, file):
    """The path of a file that a format wrote for the only study."""
    assert main(["--format", name, "--storage", storage, "--out", str(tmp_path / name)]) == 0
    (folder,) = (tmp_path / name).iterdir()
    return folder / file


def test_the_fastest_can_be_pasted_under_autotune(storage, tmp_path):
    path = exported(storage, tmp_path, "triton", "triton_configs.py")
    spec = importlib.util.spec_from_file_location("triton_configs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert all(isinstance(config, triton.Config) for config in module.CONFIGS)
    assert [config.kwargs["BLOCK"] for config in module.CONFIGS] == [1, 2, 4, 8, 16]
    assert "where there were any, need not ascend: 1 ms, 2 ms, " in module.__doc__


@pytest.mark.parametrize("tied", [True, False])
def test_of_a_tie_the_default_comes_first_and_it_is_said(tmp_path, capsys, tied):
    storage = str(tmp_path / "study.journal")
    search = Search(SPACE, "grid", trials=open_study(storage, IDENTITY, SPACE))
    while (config := search.ask()) is not None:
        is_default = config["BLOCK"] == 32
        time_s = (1.001 if tied else 9.0) if is_default else float(config["BLOCK"])
        notes = {"wall_s": 1.0} if is_default else {}
        counters = {"u_mode_cycle": 1.6e9 * time_s, "l2_miss": 1e9 * time_s}
        attributes = {"board": "emulated:x60", "estimated": True, "counters": counters, **notes}
        search.tell(config, time_s, attributes=attributes)
    text = exported(storage, tmp_path, "triton", "triton_configs.py").read_text()
    first, second = re.findall('"BLOCK": ([0-9]+)', text)[:2]
    assert (first, second) == (("32", "1") if tied else ("1", "2"))
    said = capsys.readouterr().err
    assert ("the default are tied" in text) == ("use the default" in said) == tied
    assert ("Use the winner: 9.00x" in text) != tied


def test_kernel_tuners_cache(storage, tmp_path):
    path = exported(storage, tmp_path, "kernel-tuner", "kernel_tuner_cache.json")
    cache = json.loads(path.read_text())
    row, failed = cache["cache"]["4"], cache["cache"]["32"]
    assert row == {"BLOCK": 4, "time": pytest.approx(4.0), **dict.fromkeys(STEPS, 0.0)}
    assert failed == {
        "BLOCK": 32,
        "__error__": "RuntimeFailedConfig",
        **dict.fromkeys(STEPS, 0.0),
    }
    assert cache["tune_params"] == {"BLOCK": [1, 2, 4, 8, 16, 32]}
    assert cache["problem_size"] == [8]


def call_in_docs(words: str) -> dict:
    """What the calls that the page of formats prints, in the block with these words, leave."""
    page = REPOSITORY / "docs" / "reference" / "export_formats.md"
    (block,) = [b for b in re.findall(r"```python\n(.*?)```", page.read_text(), re.S) if words in b]
    names: dict[str, object] = {}
    exec(block, names)
    return names


@pytest.mark.parametrize("is_whole", [True, False])
def test_kernel_tuner_replays_its_cache_as_docs_print(storage, tmp_path, monkeypatch, is_whole):
    pytest.importorskip("kernel_tuner", reason="kernel_tuner is not installed")
    of = storage if is_whole else partly_tried(tmp_path)
    path = exported(of, tmp_path, "kernel-tuner", "kernel_tuner_cache.json")
    monkeypatch.chdir(path.parent)
    rows = call_in_docs("import tune_kernel\n")["rows"]
    timed = {row["BLOCK"]: row["time"] for row in rows if "__error__" not in row}
    blocks = (1, 2, 4, 8, 16) if is_whole else (8, 16)
    assert timed == pytest.approx({block: float(block) for block in blocks})
    assert len(rows) == (6 if is_whole else 2)


@pytest.mark.parametrize("is_whole", [True, False])
def test_kernel_tuner_replays_a_t1_as_docs_print(storage, tmp_path, monkeypatch, is_whole):
    pytest.importorskip("kernel_tuner", reason="kernel_tuner is not installed")
    path = exported(storage if is_whole else partly_tried(tmp_path), tmp_path, "t1", "t1.json")
    monkeypatch.chdir(path.parent)
    rows = call_in_docs("tune_kernel_T1")["results"]["results"]
    of_blocks = {row["configuration"]["BLOCK"]: row["invalidity"] for row in rows}
    right = dict.fromkeys((8, 16), "correct")
    if is_whole:
        right |= {**dict.fromkeys((1, 2, 4), "correct"), 32: "runtime"}
    assert of_blocks == right


def test_t4_passes_the_check_that_docs_print(storage, tmp_path, monkeypatch):
    pytest.importorskip("kernel_tuner", reason="kernel_tuner is not installed")
    monkeypatch.chdir(exported(storage, tmp_path, "t4", "t4.json").parent)
    assert len(call_in_docs("t4.json")["results"]["results"]) == 6


def test_t4(storage, tmp_path):
    document = json.loads(exported(storage, tmp_path, "t4", "t4.json").read_text())
    about = {"kernel": "k", "shape": {"N": 8}, "dtype": "fp32", "device": "board"}
    by = {"sampler": "tpe", "seed": 0, "study": IDENTITY.name, "made_with": IDENTITY.made_with}
    metadata = {"timeunit": "milliseconds", **about, **by}
    assert metadata.items() <= document["metadata"].items()
    results = document["results"]
    by_block = {row["configuration"]["BLOCK"]: row for row in results}
    assert by_block[8]["measurements"][0] == {
        "name": "time",
        "value": pytest.approx(8.0),
        "unit": "ms",
    }
    assert by_block[8]["invalidity"] == "correct"
    assert by_block[32]["invalidity"] == "correctness"
    assert by_block[32]["correctness"] == 0


def test_t4_is_as_its_schema_says(storage, tmp_path):
    files = pytest.importorskip("kernel_tuner.file_utils", reason="kernel_tuner is not installed")
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(exported(storage, tmp_path, "t4", "t4.json").read_text())
    _, schema = files.output_file_schema("results")
    jsonschema.validate(document, schema)


def test_t1_asks_for_what_was_recorded(storage, tmp_path):
    path = exported(storage, tmp_path, "t1", "t1.json")
    problem = json.loads(path.read_text())
    (block,) = problem["ConfigurationSpace"]["TuningParameters"]
    assert (block["Name"], block["Type"]) == ("BLOCK", "int")
    assert ast.literal_eval(block["Values"]) == [1, 2, 4, 8, 16, 32]
    (condition,) = problem["ConfigurationSpace"]["Conditions"]
    known = [BLOCK for BLOCK in range(40) if eval(condition["Expression"], {"BLOCK": BLOCK})]
    assert known == [1, 2, 4, 8, 16, 32]
    recorded = path.with_name(problem["KernelSpecification"]["SimulationInput"])
    assert set(json.loads(recorded.read_text())["cache"]) == {"1", "2", "4", "8", "16", "32"}


def test_kernel_tuner_simulates_a_t1(tmp_path, monkeypatch):
    interface = pytest.importorskip(
        "kernel_tuner.interface", reason="kernel_tuner is not installed"
    )
    files = pytest.importorskip("kernel_tuner.file_utils")
    jsonschema = pytest.importorskip("jsonschema")
    path = exported(partly_tried(tmp_path), tmp_path, "t1", "t1.json")
    jsonschema.validate(json.loads(path.read_text()), files.input_file_schema()[1])
    monkeypatch.chdir(path.parent)
    rows, _ = interface.tune_kernel_T1(path, simulation_mode=True, output_T4=False)
    found = {(row["BLOCK"], row["ORDER"], row["FUSED"]): row["time"] for row in rows}
    assert found == {(8, "rows", True): 8.0, (16, "columns", False): 16.0}


def partly_tried(folder):
    """The storage of a study that tried two of eight combinations."""
    storage = str(folder / "part.journal")
    space = SearchSpace(
        (
            Parameter("BLOCK", (8, 16)),
            Parameter("ORDER", ("rows", "columns")),
            Parameter("FUSED", (False, True)),
        )
    )
    search = Search(space, "random", trials=open_study(storage, IDENTITY, space))
    for config in (
        {"BLOCK": 8, "ORDER": "rows", "FUSED": True},
        {"BLOCK": 16, "ORDER": "columns", "FUSED": False},
    ):
        assert search.take(config)
        search.tell(config, config["BLOCK"] * 1e-3, attributes={"board": "b"})
    return storage


def test_a_replay_of_several_shapes_finds_its_cache(tmp_path):
    """Kernel Tuner refuses a cache of another problem size."""
    storage = str(tmp_path / "joint.journal")
    identity = dataclasses.replace(IDENTITY, more_shapes=({"N": 9},))
    search = Search(SPACE, "random", trials=open_study(storage, identity, SPACE))
    search.tell(search.ask(), 1e-3)
    path = exported(storage, tmp_path, "t1", "t1.json")
    problem = json.loads(path.read_text())["KernelSpecification"]
    cache = json.loads((path.parent / problem["SimulationInput"]).read_text())
    assert cache["problem_size"] == problem["ProblemSize"] == [1]


def nothing_for(tmp_path, format_name, space, status):
    """What is said of a study of one trial, by its name; without it, that is left out."""
    storage, out = str(tmp_path / "odd.journal"), tmp_path / "out"
    search = Search(space, "random", trials=open_study(storage, IDENTITY, space, "odd"))
    search.tell(search.ask(), None if status else 1e-3, status=status)
    arguments = ["--format", format_name, "--storage", storage, "--out", str(out)]
    assert main(arguments) == 1
    with pytest.raises(UserError) as caught:
        main(["odd", *arguments])
    assert list(out.iterdir()) == []
    return str(caught.value)


def test_a_study_without_a_winner_is_a_sentence(tmp_path):
    said = nothing_for(tmp_path, "triton", SPACE, "wrong")
    assert said == "odd has no trial that triton has a place for: tune it first"


@pytest.mark.parametrize("format_name", ["kernel-tuner", "t1"])
def test_a_study_without_parameters_is_a_sentence(tmp_path, format_name):
    said = nothing_for(tmp_path, format_name, SearchSpace(()), None)
    assert said.startswith("odd has no parameters, and Kernel Tuner has a place for values of ")


def test_either_sign_is_taken_in_names_of_formats(storage, tmp_path):
    exported(storage, tmp_path, "kernel_tuner", "kernel_tuner_cache.json")


def test_a_format_that_is_not_there(storage):
    with pytest.raises(UserError, match="there is no format named cvs: did you mean csv"):
        main(["--format", "cvs", "--storage", storage])


def test_each_format_is_in_the_documents():
    page = (REPOSITORY / "docs" / "reference" / "export_formats.md").read_text()
    assert [name for name in format_names() if f"`{name}`" not in page] == []

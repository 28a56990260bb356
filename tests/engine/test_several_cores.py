"""The number of cores in names, studies, lookups, warm starts and search spaces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import engine
from engine.arguments.problem import add_device_argument, core_counts
from engine.run.identity import identity_of
from engine.run.outcome import Outcome
from engine.study.history import history_of
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from engine.winners.lookup import Found
from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.devices import board_info, cores_of, load_board, machine_of, on_cores, timed
from engine.workers.joint import JointArtifact
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.command_line import ArgumentParser
from foundation.config import Config
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner import BoardInfo
from rvv_runner.board_file import user_board_folder
from rvv_runner.measurement import ElfArtifact, Measurement
from search_spaces.space import Parameter, SearchSpace

BLOCKS = (16, 32, 64, 128, 512, 8192, 32768)
SPACE = SearchSpace((Parameter("BLOCK_SIZE", BLOCKS),))
LIMIT_S = 100.0


def vector_add() -> Problem:
    return make_problem(load_kernel("vector_add"), {})


def info(cores: int) -> BoardInfo:
    return board_info(on_cores("emulated", cores))


def test_a_devices_name_says_on_how_many_cores() -> None:
    assert on_cores("emulated", 4) == "emulated@4cores"
    assert on_cores("emulated@4cores", 1) == "emulated"
    assert on_cores("desk@cold@attic", 2) == "desk@cold@2cores@attic"
    assert timed("emulated@4cores", "cold") == "emulated@cold@4cores"
    assert machine_of("desk@4cores") == ("desk@4cores", "")
    assert machine_of("desk@4cores@attic") == ("desk@4cores", "attic")
    assert machine_of("desk@1cores") == ("desk@1cores", "")
    assert on_cores("ssh://me@desk", 2) == "ssh://me@desk@2cores"
    assert [cores_of(name) for name in ("host", "x@8cores", "cuda:1", "python")] == [
        1,
        8,
        None,
        None,
    ]
    assert core_counts("1,4,8") == (1, 4, 8)


@pytest.mark.parametrize("name", ["cuda:0", "python", "hip@graph"])
def test_what_has_no_cores_to_choose_is_told(name: str) -> None:
    with pytest.raises(UserError, match=f"--cores is for boards with cores, which {name} is not"):
        on_cores(name, 4)


def test_a_number_of_cores_beside_a_name_that_says_another_is_refused() -> None:
    parser = ArgumentParser("tune", "")
    add_device_argument(parser, several=True)
    same = parser.parse(["--device", "emulated@2cores", "--cores", "2"])
    assert same.device == ("emulated@2cores",)
    for name, said in (("emulated@2cores", "2 cores"), ("emulated@1cores", "one core")):
        message = f"{name} is on {said} and --cores says 1,4: leave out one of them"
        with pytest.raises(UserError, match=message):
            parser.parse(["--device", name, "--cores", "1,4"])
    assert parser.parse(["--device", "emulated@1cores"]).device == ("emulated",)


@pytest.mark.parametrize("name", ["emulated", "emulated:x60", "desk", "desk.toml"])
def test_more_cores_than_a_board_has_are_refused_with_the_arguments(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    user_board_folder().mkdir(parents=True)
    text = 'kind = "x60"\n[ssh]\nhost = "nowhere.invalid"\n'
    for path in (user_board_folder() / "desk.toml", tmp_path / "desk.toml"):
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    parser = ArgumentParser("tune", "")
    add_device_argument(parser, several=True)
    assert parser.parse(["--device", name, "--cores", "8"]).device == (f"{name}@8cores",)
    with pytest.raises(UserError, match="has 8 cores and --cores asks for 9: give at most --co"):
        parser.parse(["--device", name, "--cores", "1,9"])
    # What does not answer is asked again when it is opened.
    parser.parse(["--device", "ssh://me@127.0.0.1:1", "--cores", "99"])
    with pytest.raises(UserError, match=r"host has .* and --cores asks for 4096: give at most"):
        parser.parse(["--device", "host", "--cores", "4096"])


@pytest.mark.parametrize(
    ("board", "options"),
    [("emulated", ""), ("desk@4cores", " --cores 4"), ("desk@2cores@attic", " --cores 2")],
)
def test_the_command_to_run_a_configuration_by_hand_takes_as_many_cores(
    board: str, options: str
) -> None:
    artifact = ElfArtifact(Path("k.elf"), "0", Path("k.data"), (8, 1, 1), 256)
    outcome = Outcome(Measurement("correct", (1e-3,), board=board), artifact)
    command = outcome.attributes()["run_command"]
    assert str(command).endswith(f"k.data --grid 8,1,1{options}")
    assert f"\n{command}\n" in outcome.note()
    joint = JointArtifact({"N=1": artifact, "N=2": artifact})
    outcome = Outcome(Measurement("correct", (1e-3,), board=board), joint)
    assert outcome.attributes()["run_command"] == f"{command} && {command}"


def test_a_study_is_of_a_number_of_cores() -> None:
    one, four = (identity_of(vector_add(), info(cores), "auto") for cores in (1, 4))
    assert (one.device, four.device) == ("emulated:x60", "emulated:x60@4cores")
    assert one.made_with["board model"] != four.made_with["board model"]
    assert info(1).kind == load_board("emulated").info.kind
    assert (info(1).used_cores, info(4).used_cores, info(4).cores_per_l2) == (1, 4, 4)


def stored(storage: Path, identity: StudyIdentity, times_s: Mapping[int, float]) -> None:
    trials = open_study(str(storage), identity, SPACE)
    for block, time_s in times_s.items():
        number = trials.start(Config({"BLOCK_SIZE": block}), SPACE, {})
        trials.finish(number, time_s, "correct", {"estimated": True})


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return tmp_path / "tuner.journal"


def found(storage: Path, cores: int | None) -> Found:
    return engine.lookup("vector_add", storage=str(storage), cores=cores)


def test_a_lookup_finds_what_was_tuned_on_as_many_cores_or_on_nearly_as_many(
    storage: Path,
) -> None:
    for cores, best in ((1, 32768), (4, 8192)):
        times_s = {block: 1e-5 if block == best else 2e-5 for block in BLOCKS}
        stored(storage, identity_of(vector_add(), info(cores), "auto"), times_s)
    one, four, eight = found(storage, None), found(storage, 4), found(storage, 8)
    assert [each.config["BLOCK_SIZE"] for each in (one, four, eight)] == [32768, 8192, 8192]
    assert [each.how for each in (one, four, eight)] == ["exact", "exact", "nearest"]
    assert "tuned at this shape; tuned on 4 cores, not on 8 cores. Use the winner" in str(eight)
    assert (four.other_cores, eight.other_cores, eight.differs) == (None, 4, ())
    two = found(storage, 2)  # as near to one as to four
    assert two.other_cores == 1


def test_a_study_starts_from_another_number_of_cores_before_another_board(storage: Path) -> None:
    problem = vector_add()
    times_s = dict.fromkeys(BLOCKS, 1e-5)
    for name in ("emulated:c908", "emulated", "emulated@8cores"):
        stored(storage, identity_of(problem, board_info(name), "auto"), times_s)
    four = identity_of(problem, info(4), "auto")
    past = history_of(open_study(str(storage), four, SPACE), four, SPACE)
    assert past is not None
    assert "emulated-x60@8cores" in past.name


def test_configurations_that_leave_cores_idle_are_pruned() -> None:
    problem = vector_add()  # of 65536 elements
    one, four = problem.space(info(1)), problem.space(info(4))
    largest = Config({"BLOCK_SIZE": 32768})
    assert one.violation(largest) is None
    rule = four.violation(largest)
    assert rule is not None
    assert rule.name == "program-for-each-core"
    assert four.violation(Config({"BLOCK_SIZE": 16384})) is None
    # Of 12 elements, no configuration has more than one or two programs.
    small = make_problem(load_kernel("vector_add"), {"N": 12})
    assert [dict(config) for config in small.space(info(8)).valid_configs()]


def test_one_core_and_eight_have_different_winners(tmp_path: Path) -> None:
    problem = vector_add()
    target = info(1).target
    request = BuildRequest("vector_add", problem.shape, "fp32", target, ArtifactStore(tmp_path))
    builder = KernelBuilder(request)
    boards = {cores: load_board(on_cores("emulated", cores)) for cores in (1, 8)}
    winners = {}
    for cores, board in boards.items():
        board.open()
        times_s = {}
        for block in (2048, 16384):
            built = builder.build(Config({"BLOCK_SIZE": block}))
            assert not isinstance(built, BuildFailure)
            times_s[block] = board.measure(built, 1, LIMIT_S).time_s or 0.0
        winners[cores] = min(times_s, key=times_s.__getitem__)
    assert winners == {1: 16384, 8: 2048}

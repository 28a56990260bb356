"""The preflight, the commands around it, and a tuning on a board over SSH from end to end."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path

import pytest
from ssh_cases import WRAPPER

from foundation.errors import UserError
from rvv_runner import BoardError
from rvv_runner.__main__ import main
from rvv_runner.board_file import read_board_file, user_board_folder
from rvv_runner.check import check
from rvv_runner.conditions import DOUBTED, doubt
from rvv_runner.devices import check_usage, load_board
from rvv_runner.measurement import Measurement
from rvv_runner.new_board_file import write_board_file
from rvv_runner.preflight import Preflight, _with_advice
from rvv_runner.ssh.cache import MAKE_ROOM
from rvv_runner.ssh.extensions import missing_extensions
from rvv_runner.ssh.facts import matching_kind, parse_facts
from rvv_runner.ssh.identify import described_kinds

# Other programs used 5 s of 1 s by the clock.
OTHERS = {
    "before.stat": ("cpu  0 0 0 0 0 0 0 0 0 0",),
    "after.stat": ("cpu  500 0 0 0 0 0 0 0 0 0",),
    "before.cpu_time": ("0m0.00s",),
    "after.cpu_time": ("0m0.00s",),
    "run.took": ("100",),
}


@pytest.fixture
def my_board(settings) -> Path:
    """The user's own board file, called my-board."""
    path = user_board_folder() / "my-board.toml"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'kind = "x60"\n[events]\n[ssh]\nhost = "{settings.host}"\nport = {settings.port}\n'
        f'folder = "{settings.folder}"\nlock = "{settings.lock}"\n'
        f"wrapper = {json.dumps(WRAPPER)}\nbusy_cores = {settings.busy_cores}\n"
    )
    return path


def test_a_board_that_is_well_passes_every_step(my_board, capsys):
    assert main(["check", "my-board"]) == 0
    lines = capsys.readouterr().out.splitlines()
    steps = [line[8:].split(":")[0] for line in lines]
    assert steps[0] == "reachable, host key, login"
    assert steps[1:7] == ["shell", "architecture", "disk", "lock", "governor", "temperature"]
    assert steps[-2:] == ["vector add", "half precision"]
    assert all("correct" in line for line in lines[-2:])


def test_an_emulator_without_half_precision_is_named(my_board, capsys):
    (extension,) = [word for word in WRAPPER[-1].split(",") if word.lower().startswith("zfh=")]
    without = WRAPPER[-1].replace(extension, extension.replace("true", "false"))
    my_board.write_text(
        my_board.read_text().replace(WRAPPER[-1], without.replace("zvfh=true,", ""))
    )
    assert main(["check", "my-board"]) == 1
    *_, addition, half = capsys.readouterr().out.splitlines()
    assert "vector add: correct" in addition
    assert half.startswith("failed  half precision: runtime: it was ended by SIGILL: let the emul")
    assert half.endswith(f"as in wrapper = {json.dumps(WRAPPER)}")


def test_a_lock_that_cannot_be_opened_fails(my_board, settings, capsys):
    Path(settings.lock).mkdir()
    assert main(["check", "my-board"]) == 1
    (found,) = [line for line in capsys.readouterr().out.splitlines() if " lock: " in line]
    assert found.startswith(f"failed  lock: its lock {settings.lock} cannot be opened: name")


def test_a_disk_that_is_nearly_full_may_be_left_for_another(settings, board_file, monkeypatch):
    monkeypatch.setattr("rvv_runner.preflight.free_disk_bytes", lambda *_: 2 << 20)
    steps = Preflight("test", settings, board_file).findings()
    (found,) = itertools.islice((step for step in steps if step.step == "disk"), 1)
    assert (found.level, found.text) == ("failed", f"2 MiB free: {MAKE_ROOM}")
    assert "or name another as `folder` in its board file" in MAKE_ROOM


def test_what_makes_no_difference_is_told_in_one_line(my_board, fake_perf, capsys, monkeypatch):
    monkeypatch.setattr("rvv_runner.preflight.has_libc", lambda _: False)
    my_board.write_text(my_board.read_text().replace("[events]", "[events]\none = 1\nnine = 9"))
    assert main(["check", "my-board"]) == 0
    perf, linker, *_ = capsys.readouterr().out.splitlines()[-4:]
    assert perf == "note    perf: events in 1 group; its kernel or core does not count nine"
    assert linker.startswith("note    linker: this machine builds its C library first")


def test_the_vector_length_is_compared(my_board):
    my_board.write_text(my_board.read_text().replace("vlen=256", "vlen=128"))
    lines: list[str] = []
    assert not check(str(my_board), None, lines.append)
    assert lines[-1].startswith("failed  vector length: this machine's vector registers have 128")
    assert "write vlen_bits = 128 in the board file" in lines[-1]


def test_a_board_file_is_written_where_changing_it_is_what_helps(settings, monkeypatch, capsys):
    """As where the home on a board cannot be written: the message says what to change in it."""
    bad = dataclasses.replace(settings, folder="/proc/nowhere")
    board_file = dataclasses.replace(read_board_file("x60"), ssh=bad)
    monkeypatch.setattr("rvv_runner.check._look_up", lambda _: (bad, board_file))
    address = f"ssh://127.0.0.1:{settings.port}"
    assert main(["check", address]) == 1
    failed, hint = capsys.readouterr().out.splitlines()[-2:]
    assert failed.endswith("name another as `folder` in its board file")
    assert hint.endswith(f"check {address} --write NAME")
    assert main(["check", address, "--write", "mine"]) == 1
    written, following = capsys.readouterr().out.splitlines()[-2:]
    assert read_board_file("mine", user_board_folder()).ssh.port == settings.port
    assert written == f"written: {user_board_folder() / 'mine.toml'}"
    assert following.endswith("check mine")


def test_the_vector_length_of_an_unknown_board_is_found_out(settings):
    wrapper = tuple(word.replace("vlen=256", "vlen=128") for word in WRAPPER)
    unknown = dataclasses.replace(settings, wrapper=wrapper)
    preflight = Preflight("new", unknown, None, accept_unknown=True)
    assert list(preflight.findings())[-1].level == "ok"
    assert preflight.board_file is not None
    path = write_board_file("found", preflight.board_file)
    written = read_board_file("found", path.parent)
    assert (written.vlen_bits, written.cpu) == (128, "generic-rv64")
    assert written.ssh is not None
    assert written.ssh.port == settings.port


@pytest.mark.parametrize(
    ("break_it", "step"),
    [
        (lambda server: server.stop(), "reachable"),
        (lambda server: server.known_hosts.write_text(""), "host key"),
        (lambda server: (server.folder / "authorized_keys").write_text(""), "login"),
    ],
    ids=["reachable", "host key", "login"],
)
def test_the_first_step_that_fails_is_the_last(my_board, server, break_it, step, capsys):
    break_it(server)
    assert main(["check", "my-board"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"failed  {step}: ")


def test_a_machine_that_is_no_riscv_board_needs_an_emulator_in_its_file(server, capsys):
    address = f"ssh://127.0.0.1:{server.port}"
    with pytest.raises(BoardError, match="not one that a board file describes: write one with"):
        load_board(address)
    assert main(["check", address, "--write", "mine"]) == 1
    failed, written, _ = capsys.readouterr().out.splitlines()[-3:]
    assert "architecture: it is" in failed
    path = user_board_folder() / "mine.toml"
    assert written == f"written: {path}"
    emulator = failed.partition("under [ssh] in its board file: ")[2]
    path.write_text(f"{path.read_text()}{emulator}\n")
    assert read_board_file("mine", path.parent).wrapper == WRAPPER  # of an unknown core, as of x60


@pytest.mark.parametrize(
    ("status", "cause", "advice"),
    [
        ("board", doubt(OTHERS, 0.5).cause, "write a larger `busy_cores` into its board file"),
        ("board", doubt({"after.cooling": ("2",)}, 0.5).cause, "write `cool_below_c` into"),
        ("runtime", None, "name a kind that has this core's extensions"),
        ("board", None, ""),
    ],
)
def test_each_failure_of_the_vector_addition_says_what_to_do(status, cause, advice):
    conditions = {DOUBTED: cause} if cause else {}
    said = _with_advice(Measurement(status, reason="it says why", conditions=conditions))
    assert said.startswith(f"{status}: it says why")
    assert advice in said
    assert bool(advice) == (said != f"{status}: it says why")


def test_more_cores_than_a_board_at_an_address_has_are_refused_before_anything_slow(
    server, monkeypatch
):
    (kind,) = [kind for kind in described_kinds() if kind.name == "x60"]
    monkeypatch.setattr("rvv_runner.ssh.identify.matching_kind", lambda *_: kind)
    address = f"ssh://127.0.0.1:{server.port}"
    check_usage(f"{address}@8cores")
    with pytest.raises(UserError, match="has 8 cores and --cores asks for 9: give at most --co"):
        check_usage(f"{address}@9cores")


@pytest.mark.parametrize("name", ["../out", "a b", "mine.toml", ""])
def test_a_name_that_no_board_file_can_have_is_refused(home, name):
    with pytest.raises(BoardError, match="is not a name for a board"):
        check("ssh://127.0.0.1", name, print)


def test_a_board_file_is_never_written_over(my_board):
    with pytest.raises(BoardError, match="there is a board file"):
        check("ssh://127.0.0.1", "my-board", print)


@pytest.mark.parametrize("online", ["0-120000000", "0-", "-1", "many", "0,,1", "0-3-5"])
def test_a_list_of_processors_that_no_board_has(online):
    with pytest.raises(ValueError, match="the board's list of processors"):
        parse_facts(f"machine riscv64\nonline {online}\n")


def test_the_core_tells_the_kind():
    # As a K1 shows it, shortened.
    facts = parse_facts(
        "machine riscv64\nonline 0-7\ncpu.isa rv64imafdcv_zicbom_zba_zbb_zbs_zve64d\n"
        "cpu.mvendorid 0x710\ncpu.marchid 0x8000000058000001\nhas taskset\n"
        "governor ondemand\nhighest_khz 1600000\n"
    )
    kind = matching_kind(facts, described_kinds())
    assert kind is not None
    assert kind.name == "x60"
    assert facts.processors == tuple(range(8))
    assert (facts.governors, facts.highest_hz) == (("ondemand",), 1_600_000_000)
    assert matching_kind(dataclasses.replace(facts, marchid="0x1"), described_kinds()) is None


@pytest.mark.parametrize(
    ("isa", "missing"),
    [
        ("rv64imafdcv_zba_zbb_zbs", []),
        ("rv64imafdcbv_zicsr", []),
        ("rv64imafdc_zba_zbb_zbs_zve32f", ["v"]),
        ("rv64imafdcv", ["zba", "zbb", "zbs"]),
        ("", []),
    ],
)
def test_extensions_that_the_code_uses_are_looked_for(isa, missing):
    assert missing_extensions(isa) == missing


def test_a_shell_that_runs_no_probe_is_noticed():
    with pytest.raises(ValueError, match="did not run the probe"):
        parse_facts("This account is currently not available.\n")

"""Names of devices, board files, cost tables and reports: what is taken and what is refused."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

import rvv_runner
from foundation.programs import python_command
from rvv_runner import BoardError
from rvv_runner.board_entries import board_file_names, core_kinds
from rvv_runner.board_file import read_board_file, user_board_folder
from rvv_runner.devices import (
    DEFAULT_DEVICE,
    board_file_of,
    board_names,
    known_board,
    known_boards,
    load_board,
)
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.costs import read_cost_table
from rvv_runner.emulated.counters import parse_report
from rvv_runner.emulated.plugin import build_plugin
from triton_rvv.runtime.qemu import find_qemu
from triton_rvv.targets.target import RVVTarget

COSTS = Path(rvv_runner.__file__).parent / "emulated" / "x60_costs.toml"
BOARD = Path(rvv_runner.__file__).parent / "boards" / "x60.toml"


@pytest.fixture
def my_board(tmp_path, monkeypatch) -> Path:
    """A board file of the user's, called my-board."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = user_board_folder() / "my-board.toml"
    path.parent.mkdir(parents=True)
    path.write_text('kind = "x60"\n[ssh]\nhost = "10.0.0.7"\nuser = "me"\n')
    return path


def test_the_default_device_is_the_emulated_x60():
    assert board_names()[0] == DEFAULT_DEVICE == "emulated"
    assert load_board("emulated").info == load_board("emulated:x60").info
    info = load_board("emulated").info
    assert (info.name, info.cpu, info.vlen_bits) == ("emulated:x60", "spacemit-x60", 256)
    assert info.deterministic
    assert info.estimated


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("emulatd", "did you mean emulated"),
        ("my-bord", "did you mean my-board"),
        ("x", "choose"),
        ("cpu", "this machine's CPU is host$"),
        ("hotel", "choose one of emulated, .*, host, my-board, or write a board file for your own"),
    ],
)
def test_an_unknown_device_names_the_nearest(my_board, name, hint):
    with pytest.raises(BoardError, match=f"there is no device named {name}: .*{hint}"):
        load_board(name)


def test_a_board_file_without_an_address_is_told_to_name_one(my_board):
    (user_board_folder() / "desk.toml").write_text('kind = "x60"\n')
    with pytest.raises(BoardError, match=r"your board file desk has no address: add a part"):
        load_board("desk")


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("bpi-f3", "bpi-f3 is a kind of board, and you have no board file of that name: write"),
        ("x60", "x60 is a kind of board, and you have no board file of that name: write"),
        ("tower", "there is no device named tower: choose one of .* or write a board"),
        ("none.toml", "there is no board file none.toml: write one"),
    ],
)
def test_who_has_a_board_is_told_how_to_name_it(my_board, name, refused):
    command = f"with `{python_command('rvv_runner')} check ssh://USER@HOST --write NAME`"
    with pytest.raises(BoardError, match=refused) as caught:
        load_board(name)
    assert command in str(caught.value)
    assert name.endswith(".toml") or "emulated:x60-ime, host, my-board" in str(caught.value)


@pytest.mark.parametrize("address", ["192.168.1.20", "me@lab", "me@10.0.0.7", "board.local"])
def test_the_address_of_a_board_is_told_apart_from_a_name(my_board, address):
    with pytest.raises(BoardError, match=f"if it is the address of a board, write ssh://{address}"):
        board_file_of(address)


def test_only_boards_over_ssh_are_checked():
    with pytest.raises(BoardError, match="host is not a board over SSH: give ssh://USER@HOST, or"):
        board_file_of("host")
    with pytest.raises(
        BoardError, match=r"choose one of .*emulated:x60-ime, or write a board file"
    ):
        board_file_of("nosuch")


def test_a_users_board_may_be_called_like_its_kind(my_board):
    board = my_board.with_name("x60.toml")
    my_board.rename(board)
    assert load_board("x60").info == dataclasses.replace(load_board(str(board)).info, name="x60")
    assert load_board("x60").info.kind == "x60-matrix"


@pytest.mark.parametrize("by_path", [False, True])
def test_a_users_board_takes_what_its_kind_has(my_board, by_path):
    assert "my-board" in board_names()
    board = load_board(str(my_board) if by_path else "my-board")
    assert (board.info.name, board.info.kind) == ("my-board", "x60-matrix")
    assert (board.info.vlen_bits, board.info.l2_bytes) == (256, 524288)
    assert not board.info.deterministic
    assert not board.info.estimated


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('host = "10.0.0.7"', "", "lacks the entry host"),
        (
            'kind = "x60"',
            'kind = "x61"',
            "kind = 'x61': make it one of a100, a210, ascalon, bpi-f3, c908, .*, x100, x60",
        ),
        ('user = "me"', 'usr = "me"', r"unknown entry usr: did you mean user\?"),
        ('user = "me"', "cool_bellow_c = 40", r"cool_bellow_c: did you mean cool_below_c\?"),
        ("[ssh]", "cool_below_c = 40\n[ssh]", r"entry cool_below_c: put it below \[ssh\]"),
        ('user = "me"', 'folder = "~you/tuner"', "folder = '~you/tuner': make .* begins with ~/"),
        ('user = "me"', 'folder = "~/"', "folder = '~/': make it an absolute path"),
        (
            'user = "me"',
            'lock = "~/lock"',
            "lock = '~/lock': make it an absolute path on .*rd$",
        ),
        ('user = "me"', 'wrapper = ["~/qemu"]', "wrapper = '~/qemu': make it an absolute path"),
        ('user = "me"', 'wrapper = ["qemu", 1]', "wrapper = .*: make it strings"),
        ('user = "me"', 'port = "22"', "port = '22': make it an integer"),
        ("[ssh]", "[events]\na = 1.5\n[ssh]", "a = 1.5: make it an integer or a text"),
    ],
)
def test_a_mistake_in_a_users_board_file_is_named(my_board, old, new, message):
    text = my_board.read_text()
    assert old in text
    my_board.write_text(text.replace(old, new))
    with pytest.raises(BoardError, match=message):
        load_board("my-board")


def test_a_folder_below_the_home_is_taken_from_there(my_board):
    my_board.write_text(f'{my_board.read_text()}folder = "~/tuner/x60"\n')
    settings = read_board_file(my_board.stem, my_board.parent).ssh
    assert settings.folder == "tuner/x60"


def test_a_kind_of_board_cannot_be_reached():
    with pytest.raises(BoardError, match=r"add the section \[ssh\] with its host"):
        load_board(str(BOARD))


@pytest.mark.parametrize("name", board_file_names())
def test_every_kind_of_board_can_be_compiled_for(name):
    for kind in core_kinds(name) or [name]:
        board_file = read_board_file(kind)
        RVVTarget.named(board_file.cpu, board_file.vlen_bits)
        assert board_file.ssh is None
    for line in (BOARD.parent / f"{name}.toml").read_text().split("[em")[0].splitlines():
        # Each figure has its source beside it.
        assert " = " not in line or "#" in line or line.startswith(("mvendorid", "marchid"))


@pytest.mark.parametrize("name", ["bpi-f3", "jupiter", "muse-book"])
def test_boards_with_a_k1_are_of_one_kind_and_no_device_of_their_own(name):
    board_file = read_board_file(name)
    assert dataclasses.replace(board_file, name="x60") == read_board_file("x60")
    assert f"emulated:{name}" not in board_names()
    assert known_board(name) == board_file


def test_a_known_board_may_be_the_users_board_or_model_and_wrong_files_hide_no_other(my_board):
    (user_board_folder() / "checked.toml").write_text('kind = "x60"\n')
    (user_board_folder() / "wrong.toml").write_text('kind = "x61"\n')
    assert known_boards()[-3:] == ["checked", "my-board", "wrong"]
    assert known_board("checked").name == "checked"
    assert known_board("my-board").ssh is not None
    with pytest.raises(BoardError, match="kind = 'x61'"):
        known_board("wrong")


def test_boards_that_estimate_differently_are_of_different_kinds():
    board_file = read_board_file("x60")
    other = dataclasses.replace(board_file, vlen_bits=512)
    assert EmulatedBoard(board_file).info.kind != EmulatedBoard(other).info.kind


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("vlen_bits = 256", "", "lacks the entry vlen_bits"),
        ("cores = 8", 'cores = "eight"', "cores = 'eight': make it an integer"),
        ("cores = 8", "cores = 8\ncolour = 1", "unknown entry colour"),
        ('cost_table = "x60_costs.toml"', "", "lacks the entry cost_table"),
        ("cores = 8", "cores =", "cannot be read"),
    ],
)
def test_a_wrong_board_file_is_refused(tmp_path, old, new, message):
    text = BOARD.read_text()
    assert old in text
    (tmp_path / "mine.toml").write_text(text.replace(old, new))
    with pytest.raises(BoardError, match=message):
        read_board_file("mine", tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('source = "rvv-bench: vle8 to vle64"', "", "v_load has no source"),
        (
            "[1.5, 1.75, 2, 2.9, 4.75, 8.7, 19.6]",
            "[2.9, 4.75, 8.7, 19.6]",
            "v_store needs a positive",
        ),
        ('unit = "vfp"', 'unit = "gpu"', "has the unit gpu"),
        ("l1d_sets = 128", "l1d_sets = 100", "make it a power of two"),
        ("l2_random = 35", "l2_guess = 35", "memory.* no entry l2_guess: did you mean"),
        ("l2_random = 35", "l1d_bytes = 35", "no entry l1d_bytes: write l1d_sets, and l1d_bytes"),
        ("l2_random = 35", "", "memory.* lacks l2_random"),
        ("masked = 2", "maskd = 2", "unknown entries: maskd"),
    ],
)
def test_a_wrong_cost_table_is_refused(tmp_path, old, new, message):
    text = COSTS.read_text()
    assert old in text
    path = tmp_path / "costs.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=message):
        read_cost_table(path, 256)


def test_the_plugin_refuses_a_table_that_is_not_whole(tmp_path):
    text = read_cost_table(COSTS, 256).plugin_text()
    costs = tmp_path / "costs.txt"
    costs.write_text("".join(text.splitlines(keepends=True)[:-1]))
    load = f"{build_plugin()},costs={costs},report={tmp_path / 'report.json'}"
    result = subprocess.run(
        [str(find_qemu()), "-plugin", load, "/nowhere"],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert result.returncode != 0
    assert "the cost table has" in result.stderr


def test_every_counter_of_a_report_has_a_number_and_nothing_is_made_up():
    with pytest.raises(ValueError, match="lacks an entry"):
        parse_report('{"regions": [{"cycles": 1.0}]}')
    with pytest.raises(ValueError, match="Expecting value"):
        parse_report("")
    assert parse_report('{"regions": []}') == ()

"""Boards of other machines: their names, and their processes on a machine that Ray knows."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import ray
from fakes import FakeBoard

from engine.workers.board_pool import BoardPool
from engine.workers.board_seat import BoardSource
from engine.workers.devices import (
    board_info,
    check_device_name,
    every_device,
    load_board,
    machine_of,
    timed,
)
from engine.workers.distant_boards import distant_source, info_on
from engine.workers.parcels import sources
from engine.workers.ray_nodes import node_named, this_node
from foundation.errors import CommandError, UserError
from rvv_runner.board import Board, BoardError
from rvv_runner.measurement import ElfArtifact


@pytest.mark.parametrize(
    ("name", "board", "machine"),
    [
        ("desk", "desk", ""),
        ("desk@b", "desk", "b"),
        ("boards/desk.toml@10.0.0.2", "boards/desk.toml", "10.0.0.2"),
        ("ssh://me@desk", "ssh://me@desk", ""),
        ("cuda@graph", "cuda@graph", ""),
        ("cuda:1@b", "cuda:1", "b"),
        ("cuda@graph@b", "cuda@graph", "b"),
        ("python:cuda@b", "python:cuda", "b"),
    ],
)
def test_what_follows_the_last_at_is_the_machine(name: str, board: str, machine: str) -> None:
    assert machine_of(name) == (board, machine)
    assert every_device(name) == [name]


@pytest.mark.parametrize("name", ["desk@", "@b", "@"])
def test_half_a_name_is_none(name: str) -> None:
    with pytest.raises(BoardError, match="there is no device named"):
        check_device_name(name)


def test_another_machines_gpus_are_named_one_by_one_and_timed_like_ours() -> None:
    with pytest.raises(BoardError, match="name each, as in cuda:0@NODE"):
        every_device("cuda:all@b")
    assert timed("cuda:1@b", "graph") == "cuda:1@graph@b"


def test_without_a_cluster_a_sentence_says_what_to_give() -> None:
    check_device_name("desk@b")
    with pytest.raises(UserError, match="give --ray-address"):
        board_info("desk@b")
    with pytest.raises(BoardError, match="is reached from another machine"):
        load_board("desk@b")


@pytest.fixture
def machine(ray_for_tests: None) -> str:
    (node,) = ray.nodes()
    return str(node["NodeName"])


@pytest.fixture
def address(ray_for_tests: None) -> str:
    return str(ray.get_runtime_context().gcs_address)


def test_a_machine_is_found_by_its_names_its_address_and_what_it_offers(machine: str) -> None:
    (node,) = ray.nodes()
    names = [machine, node["NodeManagerHostname"], node["NodeManagerAddress"], "CPU"]
    assert {node_named(name) for name in names} == {this_node()}
    with pytest.raises(UserError, match=f"no machine called elsewhere: name one of .*{machine}"):
        node_named("elsewhere")


def test_a_machine_says_what_it_knows_of_its_board(machine: str, address: str) -> None:
    assert info_on(machine, "emulated", address) == load_board("emulated").info
    with pytest.raises(CommandError, match="there is no device named nothing"):
        info_on(machine, "nothing", address)


def fake_board(log: Path, name: str) -> Board:
    assert name == "gpu"
    return FakeBoard(log)


def test_a_board_there_measures_once_the_users_file_is_there(machine: str, tmp_path: Path) -> None:
    kernel = tmp_path / "own" / "kernel.py"
    kernel.parent.mkdir()
    kernel.write_text("# mine")
    parcels = sources([kernel])
    kernel.unlink()
    load = functools.partial(fake_board, tmp_path / "log")
    source = distant_source(f"gpu@{machine}", machine, "gpu", load, "rvv", parcels)
    pool = BoardPool([source])
    try:
        pool.wait_open()
        built = ElfArtifact(Path("k.elf"), "0" * 64, Path("d"), (1, 1, 1), 256, {"time_ms": 3})
        assert pool.measure(built, 1, 10.0).times_s == (0.003,)
        assert [record.board for record in pool.records()] == [f"gpu@{machine}"]
        assert kernel.read_text() == "# mine"
    finally:
        pool.close()


def test_a_board_of_no_machine_ends_in_a_sentence(machine: str) -> None:
    with pytest.raises(UserError, match="no machine called elsewhere"):
        BoardPool([BoardSource("gpu@elsewhere", FakeBoard, "elsewhere")])

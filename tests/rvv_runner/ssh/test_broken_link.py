"""A link that breaks in the middle of a measurement: nothing is lost, scored wrongly or left."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ssh_cases import SCALE, WRAPPER, doubled, processes_with

from rvv_runner import BoardError
from rvv_runner.measurement import Measurement
from rvv_runner.ssh.address import Address
from rvv_runner.ssh.board import SshBoard
from rvv_runner.ssh.facts import BoardFacts, ask_facts
from rvv_runner.ssh.link import Link
from rvv_runner.ssh.route import find_route
from rvv_runner.ssh.session import Session


def sleeps(seconds: float) -> str:
    """A right kernel whose first run takes so long."""
    return f"""
    extern int usleep(unsigned);
    static int runs;
    if (x > 0) return;
    if (runs++ == 0) usleep({int(seconds * 1e6)});
    {SCALE}
    """


class Starts:
    """A wrapper that notes when it starts and ends each program."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "starts"
        self.script = folder / "wrapper.sh"
        qemu = " ".join(f"'{word}'" for word in WRAPPER)
        self.script.write_text(
            f'#!/bin/sh\ndate "+start %s.%N" >>{self.log}\n{qemu} "$@"\nstatus=$?\n'
            f'date "+end %s.%N" >>{self.log}\nexit $status\n'
        )
        self.script.chmod(0o755)

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def count(self) -> int:
        return sum(line.startswith("start") for line in self.lines())

    def wait(self, count: int) -> None:
        deadline = time.monotonic() + 200
        while self.count() < count:
            assert time.monotonic() < deadline, "the program did not start"
            time.sleep(0.02)


@pytest.fixture
def starts(tmp_path: Path) -> Starts:
    return Starts(tmp_path)


@pytest.fixture
def meanwhile() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Does something while the test measures; what fails there fails the test."""
    errors: list[BaseException] = []
    threads = []

    def run(action: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                action()
            except BaseException as error:
                errors.append(error)

        threads.append(threading.Thread(target=guarded))
        threads[-1].start()

    yield run
    for thread in threads:
        thread.join(30)
    assert errors == []


def test_an_outage_of_three_seconds_costs_nothing(
    open_board, build_kernel, proxy, starts, meanwhile
):
    board = open_board(port=proxy.port, wrapper=(str(starts.script),))
    artifact = build_kernel(sleeps(1.5), doubled())

    def outage() -> None:
        starts.wait(1)
        proxy.cut()
        time.sleep(3)
        proxy.mend()

    meanwhile(outage)
    measurement = board.measure(artifact, 2, 20.0)
    assert measurement.status == "correct", measurement.reason
    assert starts.count() == 1


def test_a_dead_link_is_noticed_and_the_jobs_result_is_fetched_later(
    open_board, build_kernel, proxy, starts, meanwhile
):
    board = open_board(port=proxy.port, wrapper=(str(starts.script),))
    artifact = build_kernel(sleeps(2), doubled())
    noticed = []

    def outage() -> None:
        starts.wait(1)
        before = proxy.connections
        proxy.cut()
        deadline = time.monotonic() + 200
        while proxy.connections == before and time.monotonic() < deadline:
            time.sleep(0.02)
        noticed.append(proxy.connections > before)
        proxy.mend()

    meanwhile(outage)
    measurement = board.measure(artifact, 2, 90.0)
    assert measurement.status == "correct", measurement.reason
    assert starts.count() == 1
    assert noticed == [True]


@pytest.fixture
def breaks(monkeypatch) -> list[str]:
    """Ends as many logins as it has words while the board is opened, as paramiko says it."""
    texts: list[str] = []

    def ask(session: Session, system: str) -> BoardFacts:
        if texts:
            text = texts.pop()
            with session._answering():
                raise OSError(text)
        return ask_facts(session, system)

    monkeypatch.setattr("rvv_runner.ssh.board.ask_facts", ask)
    return texts


def test_a_link_that_breaks_while_the_board_is_opened_costs_nothing(board_file, breaks):
    breaks += ["Socket is closed"] * 2
    board = SshBoard("test", board_file, patience_s=60)
    board.open()
    assert board.facts.processors
    assert breaks == []
    board.close()


def test_a_link_that_breaks_each_time_says_what_to_look_at(open_board, board_file, breaks):
    why = r"lost \(Socket is closed\): look at the cable or the network$"
    breaks.append("Socket is closed")
    with pytest.raises(BoardError, match=why):
        open_board()  # which waits for nothing
    breaks += ["Socket is closed"] * 9
    with pytest.raises(BoardError, match=why):
        SshBoard("test", board_file, patience_s=60).open()
    assert len(breaks) == 6


def test_a_link_that_stays_dead_is_the_boards_fault_and_the_job_still_ends(
    open_board, build_kernel, proxy, starts, meanwhile
):
    board = open_board(port=proxy.port, wrapper=(str(starts.script),))
    artifact = build_kernel('for (;;) __asm__ volatile("");', doubled(), grid=(7879, 1, 1))

    def outage() -> None:
        starts.wait(1)
        proxy.cut()

    meanwhile(outage)
    measurement = board.measure(artifact, 1, 2.0)
    assert measurement.status == "board"
    assert "127.0.0.1" in measurement.reason or "connection" in measurement.reason
    assert processes_with("7879,1,1") == []


def test_a_server_that_is_killed_and_comes_back_costs_nothing(
    open_board, build_kernel, server, starts, meanwhile
):
    board = open_board(wrapper=(str(starts.script),))
    artifact = build_kernel(sleeps(1.5), doubled())

    def outage() -> None:
        starts.wait(1)
        server.stop()
        time.sleep(1)
        server.start()

    meanwhile(outage)
    measurement = board.measure(artifact, 2, 20.0)
    assert measurement.status == "correct", measurement.reason
    assert starts.count() == 1


def test_the_servers_end_of_a_lost_login_is_ended(server, monkeypatch):
    link = Link(find_route(Address("127.0.0.1", server.user, server.port)))
    lost = link.session(time.monotonic() + 10)
    before = server.sessions()
    with monkeypatch.context() as patch:
        patch.setattr(Session, "close", lambda _: None)  # as where no packet arrives any more
        link.drop()
    link.session(time.monotonic() + 10)
    deadline = time.monotonic() + 200
    while set(server.sessions()) & set(before):
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.05)
    assert len(server.sessions()) == len(before)
    lost.close()
    link.drop()


def test_a_board_that_was_started_anew_runs_the_job_again(
    open_board, build_kernel, server, starts, meanwhile
):
    board = open_board(wrapper=(str(starts.script),))
    artifact = build_kernel(sleeps(1.5), doubled())

    def restart() -> None:
        starts.wait(1)
        server.stop()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            # Everything of the job, by the folder that it uses; others may end meanwhile.
            with contextlib.suppress(OSError):
                if str(starts.script.parent).encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)
        server.start()

    meanwhile(restart)
    measurement = board.measure(artifact, 2, 20.0)
    assert measurement.status == "correct", measurement.reason
    assert starts.count() == 2


def test_two_tuners_never_measure_at_once(open_board, build_kernel, starts, meanwhile, tmp_path):
    artifact = build_kernel(sleeps(0.1), doubled())
    boards = [
        open_board(wrapper=(str(starts.script),), folder=str(tmp_path / f"tuner{number}"))
        for number in range(2)
    ]
    measured: list[Measurement] = []
    for board in boards:
        meanwhile(lambda board=board: measured.extend(measure(board, artifact) for _ in range(3)))
    deadline = time.monotonic() + 200
    while len(measured) < 6 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [measurement.status for measurement in measured] == ["correct"] * 6
    order = sorted(starts.lines(), key=lambda line: float(line.split()[1]))
    assert [line.split()[0] for line in order] == ["start", "end"] * 6


def measure(board, artifact):
    return board.measure(artifact, 1, 20.0)

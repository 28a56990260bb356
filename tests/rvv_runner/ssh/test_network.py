"""A board at the other end of a network of its own, whose link goes down for real."""

from __future__ import annotations

import os
import secrets
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest
from ssh_cases import SCALE, WRAPPER, doubled
from ssh_server import SshServer, running

BOARD, HERE = "10.213.7.2", "10.213.7.1"


class Network:
    """A pair of interfaces, one of them in a namespace that stands for the board.

    Raises:
        OSError: where this machine does not let its root make one.
    """

    def __init__(self) -> None:
        self.name = f"rvv{secrets.token_hex(3)}"
        self._ip("netns", "add", self.name)
        try:
            self._ip("link", "add", self.name, "type", "veth", "peer", "eth0", "netns", self.name)
            self._ip("address", "add", f"{HERE}/30", "dev", self.name)
            self._ip("link", "set", self.name, "up")
            self._ip("-n", self.name, "address", "add", f"{BOARD}/30", "dev", "eth0")
            for interface in ("lo", "eth0"):
                self._ip("-n", self.name, "link", "set", interface, "up")
        except OSError:
            self.remove()
            raise

    def cut(self) -> None:
        """Everything that is sent from now on is lost, as with a cable pulled out."""
        self._ip("-n", self.name, "link", "set", "eth0", "down")

    def mend(self) -> None:
        self._ip("-n", self.name, "link", "set", "eth0", "up")

    def remove(self) -> None:
        subprocess.run(["ip", "link", "del", self.name], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)

    @staticmethod
    def _ip(*arguments: str) -> None:
        done = subprocess.run(
            ["ip", *arguments], capture_output=True, text=True, timeout=200, check=False
        )
        if done.returncode != 0:
            raise OSError(done.stderr.strip())


@pytest.fixture
def network() -> Iterator[Network]:
    if os.geteuid() != 0:
        pytest.skip("only root can make a network namespace")
    try:
        network = Network()
    except OSError as error:
        pytest.skip(f"this machine makes no network namespace: {error}")
    yield network
    network.remove()


@pytest.fixture
def far_server(network: Network, tmp_path, home) -> Iterator[SshServer]:
    folder = tmp_path / "sshd"
    folder.mkdir()
    server = SshServer(folder, home, address=BOARD, before=("ip", "netns", "exec", network.name))
    with running(server):
        yield server


@pytest.fixture
def server(far_server: SshServer) -> SshServer:
    """What the fixtures of boards use."""
    return far_server


SLEEPS = f"extern int usleep(unsigned); static int runs; if (runs++ == 0) usleep(1500000); {SCALE}"


def outage(network: Network, after_s: float, length_s: float) -> threading.Thread:
    def cut_and_mend() -> None:
        time.sleep(after_s)
        network.cut()
        time.sleep(length_s)
        network.mend()

    thread = threading.Thread(target=cut_and_mend)
    thread.start()
    return thread


def test_a_cable_pulled_out_for_three_seconds_costs_nothing(network, open_board, build_kernel):
    board = open_board(host=BOARD, wrapper=WRAPPER)
    artifact = build_kernel(SLEEPS, doubled())
    thread = outage(network, 0.5, 3.0)
    start_s = time.monotonic()
    measurement = board.measure(artifact, 2, 20.0)
    took_s = time.monotonic() - start_s
    thread.join()
    assert measurement.status == "correct", measurement.reason
    assert took_s > 3  # so it was on its way when the cable was out


@pytest.mark.long
def test_a_cable_pulled_out_for_longer_is_noticed_and_the_result_fetched(
    network, open_board, build_kernel
):
    board = open_board(host=BOARD, wrapper=WRAPPER)
    artifact = build_kernel(SLEEPS, doubled())
    thread = outage(network, 0.5, 30.0)
    measurement = board.measure(artifact, 2, 60.0)
    thread.join()
    assert measurement.status == "correct", measurement.reason

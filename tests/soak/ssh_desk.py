"""A board called "desk": a real sshd whose executables run in QEMU, and ways to hurt its link."""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

from ssh_cases import WRAPPER
from ssh_server import Proxy, SshServer, running

__all__ = ["Desk", "desk"]

_CUT_S = (1.0, 30.0)

_BOARD_FILE = """kind = "x60"
events = {{}}
[ssh]
host = "127.0.0.1"
port = {port}
folder = "{folder}"
lock = "{folder}.lock"
busy_cores = 1000.0
wrapper = {wrapper}
"""


class Desk:
    """The board.

    Args:
        server: its sshd.
        proxy: the link to it.
    """

    def __init__(self, server: SshServer, proxy: Proxy) -> None:
        self._server = server
        self._proxy = proxy

    @property
    def environment(self) -> dict[str, str]:
        """Of a tuner that may use the board."""
        cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        home = str(self._server.home)
        known = {name: value for name, value in os.environ.items() if name != "SSH_AUTH_SOCK"}
        return {
            **known,
            "HOME": home,
            "XDG_CACHE_HOME": cache,
            "XDG_CONFIG_HOME": f"{home}/.config",
        }

    def hurt(self, rng: random.Random) -> str:
        """Do something to the link; what was done."""
        if rng.random() < 0.5:
            self._server.stop()
            time.sleep(rng.uniform(0, 2))
            self._server.start()
            return "kill sshd"
        self._proxy.cut()
        time.sleep(rng.uniform(*_CUT_S))
        self._proxy.mend()
        return "cut the link"


@contextlib.contextmanager
def desk(folder: Path, board: Path) -> Iterator[Desk]:
    """A board that works; its keys and the user's home are in one folder, its files in another."""
    home = folder / "home"
    boards = home / ".config" / "triton-rvv-tuner" / "boards"
    boards.mkdir(parents=True)
    with running(SshServer(folder, home)) as server:
        proxy = Proxy(server.port)
        server.trust(proxy.port)
        text = _BOARD_FILE.format(port=proxy.port, folder=board, wrapper=json.dumps(WRAPPER))
        (boards / "desk.toml").write_text(text)
        try:
            yield Desk(server, proxy)
        finally:
            proxy.close()

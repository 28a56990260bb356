"""Ray on this machine: nobody else can reach it, join it or read its files."""

from __future__ import annotations

import contextlib
import http.client
import os
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from ray._private import services

from engine.workers import ray_session as ray_session_module
from engine.workers.session_guard import _members

pytestmark = pytest.mark.usefixtures("ray_for_tests")

LISTENING = "0A"  # proc(5), /proc/net/tcp
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}


def processes_of_ray() -> list[Path]:
    """The processes of the session; agents and workers have titles in place of command lines."""
    return [Path(f"/proc/{pid}") for pid in _members(session_folder().parent)]


def session_folder() -> Path:
    """The folder of Ray's session, within the one that nobody else may enter."""
    return Path(ray._private.worker._global_node.get_session_dir_path()).parent


def listening_sockets(processes: list[Path]) -> Iterator[tuple[str, int]]:
    """Address, as Linux writes it, and port."""
    sockets = set()
    for process in processes:
        with contextlib.suppress(OSError):  # it has ended since
            for descriptor in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    sockets.add(str(descriptor.readlink()))
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in sockets:
                address, _, port = fields[1].partition(":")
                yield address, int(port, 16)


def commands_of_ray() -> Iterator[bytes]:
    """The command line of each."""
    for process in processes_of_ray():
        with contextlib.suppress(OSError):  # it has ended since
            yield (process / "cmdline").read_bytes()


def wait_for_agents() -> None:
    """They start beside the first worker."""
    deadline_s = time.monotonic() + 200
    while time.monotonic() < deadline_s:
        if any(b"Agent" in command for command in commands_of_ray()):
            return
        time.sleep(0.1)
    raise AssertionError("no agent of Ray's has started")


def test_ray_listens_on_the_loopback_address_only() -> None:
    wait_for_agents()
    processes = [*processes_of_ray(), Path("/proc/self")]
    addresses = [address for address, _ in listening_sockets(processes)]
    assert len(addresses) >= 4  # of the cluster's store, the scheduler and this program
    assert set(addresses) <= LOOPBACK


def test_no_port_answers_without_the_token() -> None:
    """As HTTP: Ray's agent makes environments for programs there; other ports speak gRPC."""
    wait_for_agents()
    refused = 0
    for _, port in listening_sockets(processes_of_ray()):
        url = f"http://127.0.0.1:{port}/get_or_create_runtime_env"
        try:
            with urllib.request.urlopen(url, data=b"{}", timeout=200) as answer:
                raise AssertionError(answer.read())
        except urllib.error.HTTPError as error:
            refused += error.code == 401
        except (OSError, http.client.HTTPException):
            continue  # not HTTP
    assert refused == 1


def test_it_has_no_processes_that_nobody_asks() -> None:
    commands = list(commands_of_ray())
    assert any(b"raylet" in command for command in commands)
    for unused in (b"dashboard.py", b"log_monitor.py", b"/monitor.py"):
        assert not any(unused in command for command in commands)


def test_nobody_else_may_enter_its_folder() -> None:
    private = session_folder().parent
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_reads_nothing_of_it() -> None:
    folder = session_folder()
    token = [file for file in folder.parent.rglob("*token*") if file.is_file()]
    environments = [process / "environ" for process in processes_of_ray()]
    assert environments  # which hold the token
    for path in (folder.parent, folder, *token, *environments):
        look = ["ls", str(path)] if path.is_dir() else ["cat", str(path)]
        somebody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]
        done = subprocess.run(
            [*somebody, *look], capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode != 0
        assert "Permission denied" in done.stderr


def test_no_command_line_shows_the_token() -> None:
    token = os.environ["RAY_AUTH_TOKEN"].encode()
    commands = list(commands_of_ray())
    assert any(b"raylet" in command for command in commands)
    assert not any(token in command for command in commands)


# Another user where the tests are root's, since nobody but root may execute root's Python. Each of
# its children tries to join with another mode and token, and prints what comes of it.
JOINING = """
import os, sys
from ray._raylet import GcsClient

if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for mode, token in zip(sys.argv[2::2], sys.argv[3::2]):
    if os.fork() == 0:
        os.environ |= {"RAY_AUTH_MODE": mode, "RAY_AUTH_TOKEN": token}
        try:
            nodes = GcsClient(address=sys.argv[1]).get_all_node_info(timeout=200)
            print(f"{len(nodes)} nodes", flush=True)
        except Exception as error:
            print(type(error).__name__, flush=True)
        os._exit(0)
    os.wait()
"""


def test_another_user_without_the_token_cannot_join(tmp_path: Path) -> None:
    address = ray.get_runtime_context().gcs_address
    token = os.environ["RAY_AUTH_TOKEN"]
    done = subprocess.run(
        [
            *(sys.executable, "-c", JOINING, address),
            *("token", token, "token", "0" * 64, "disabled", "0" * 64),
        ],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.stdout.split("\n") == ["1 nodes", *["AuthenticationError"] * 2, ""], done.stderr


def test_a_slow_start_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def get_node(*arguments: object) -> str:
        asked.append(arguments)
        if len(asked) < 3:
            raise RuntimeError("no node yet")
        return "node"

    monkeypatch.setattr(services, "get_node", get_node)
    monkeypatch.setattr(ray_session_module, "_LOOK_S", 0.0)
    with ray_session_module._patient():
        assert services.get_node("address", "id") == "node"
    assert asked == [("address", "id")] * 3
    assert services.get_node is get_node
    monkeypatch.setattr(ray_session_module, "_START_LIMIT_S", -1.0)
    asked.clear()
    with ray_session_module._patient(), pytest.raises(RuntimeError, match="no node yet"):
        services.get_node("address", "id")


def test_workers_do_not_look_for_modules_in_the_current_folder() -> None:
    """A user's folder called kernels there would hide this program's."""
    job = ray._private.worker.global_worker.core_worker.get_job_config()
    assert str(Path.cwd()) not in job.py_driver_sys_path

"""Ray for the length of a block: started on this machine, or a running cluster.

Whoever can talk to Ray can run programs as its user. So Ray on this machine listens on the loopback
address only, asks for a token of its own, and keeps its files where no other user can look.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import ray
from ray._private import ray_constants, services, utils
from ray._private.node import Node
from ray.job_config import JobConfig

from engine.workers.artifacts import ARTIFACT_FOLDER
from engine.workers.machine import check_can_work
from engine.workers.ray_nodes import watching_head
from engine.workers.session_guard import guarded
from engine.workers.worker_process import forget_spares
from foundation.errors import UserError
from foundation.scratch import held_folder, remove_left_behind

__all__ = ["ray_session"]

_OBJECT_STORE_BYTES = 80 << 20  # near Ray's minimum; only paths and numbers travel
_FOLDER_PREFIX = "rvv-ray-"
_RAYS_FOLDER = "r"
_WORKERS_FOLDER = "t"  # where builders and boards have their temporary files
_TOKEN = secrets.token_hex(32)  # of all sessions of this process, since Ray keeps it in memory
_CONNECT_LIMIT_S = 5.0

# How long Ray may take to start: its server, then its node. Two seconds on a machine that is idle.
_START_LIMIT_S = 120.0
_LOOK_S = 0.5
_PORT_WAIT = "RAY_gcs_server_port_wait_time_s"

# They start Ray's dashboard, autoscaler and collector of logs. Nobody asks them anything here, each
# takes a second of a processor, and ray.init has no argument that leaves them out.
_UNUSED = ("start_api_server", "start_monitor", "start_log_monitor")

# Of the folder of temporary files: with Ray's names below it, it has to fit into the 107 bytes that
# Linux has for the path of a socket (unix(7)).
_LONGEST_PATH_BYTES = 24


@contextlib.contextmanager
def ray_session(cpus: int, address: str | None = None) -> Iterator[None]:
    """Ray for the length of the block: started on this machine, or a running cluster.

    A block within another one uses the outer one's Ray.

    Starting takes about two seconds. If this process is killed, a guard ends its workers and Ray,
    and removes their files.

    Args:
        cpus: how many builds may run at once on this machine; a cluster knows its own size.
        address: of a running cluster, as "host:port"; None starts Ray here.

    Raises:
        UserError: if the cluster cannot be reached, or this machine lacks what workers need.
    """
    if address is not None:
        _check_answers(address)
    if ray.is_initialized():  # by a command that runs several studies
        yield
        return
    if address is not None:
        with _own_sigterm():
            _join(address)
        try:
            with watching_head(address):
                yield
        finally:
            forget_spares()
            ray.shutdown()
        return
    temporary = Path(tempfile.gettempdir()).resolve()
    builds = ARTIFACT_FOLDER.resolve()
    _check_length(temporary)
    check_can_work(temporary, builds)
    remove_left_behind(_FOLDER_PREFIX, temporary)
    folder, held = held_folder(_FOLDER_PREFIX, temporary)
    try:
        with guarded(folder, builds), _private(folder):
            try:
                with _alone(), _patient(), _own_sigterm():
                    _start(cpus, folder)
                with watching_head(None):
                    yield
            finally:
                forget_spares()
                ray.shutdown()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


@contextlib.contextmanager
def _private(folder: Path) -> Iterator[None]:
    """Ray that starts in the block is for this user's processes on this machine alone.

    The switch keeps Ray on the loopback address. Ray has it for Windows and macOS, where firewalls
    would ask; it is off elsewhere, and `_node_ip_address` cannot take its place, since Ray replaces
    a loopback address by that of a network. Ray reads it from the environment as it is imported.
    """
    workers = folder / _WORKERS_FOLDER
    workers.mkdir()
    variables = {
        "TMPDIR": str(workers),
        ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR: "0",
        "RAY_AUTH_TOKEN": _TOKEN,
        _PORT_WAIT: os.environ.get(_PORT_WAIT, f"{_START_LIMIT_S:.0f}"),
    }
    before = {name: os.environ.get(name) for name in variables}
    could_cluster = ray_constants.ENABLE_RAY_CLUSTER
    os.environ.update(variables)
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = could_cluster
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Ray that starts in the block has no processes but those that its workers need."""
    before = {name: getattr(Node, name) for name in _UNUSED if hasattr(Node, name)}
    for name in before:
        setattr(Node, name, _nothing)
    try:
        yield
    finally:
        for name, starts in before.items():
            setattr(Node, name, starts)


@contextlib.contextmanager
def _patient() -> Iterator[None]:
    """Ray that starts in the block has two minutes for it on a machine that is busy; its own wait
    is half a minute, which is no argument of ray.init."""
    asks = services.get_node

    def get_node(*arguments: object) -> object:
        deadline_s = time.monotonic() + _START_LIMIT_S
        while True:
            try:
                return asks(*arguments)
            except RuntimeError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(_LOOK_S)

    services.get_node = get_node
    try:
        yield
    finally:
        services.get_node = asks


@contextlib.contextmanager
def _own_sigterm() -> Iterator[None]:
    """Ray that starts in the block leaves SIGTERM to this program, also while it starts; its own
    way prints for pages, or ends the program without a word."""
    before, handler = utils.set_sigterm_handler, signal.getsignal(signal.SIGTERM)
    utils.set_sigterm_handler = _nothing
    try:
        yield
    finally:
        utils.set_sigterm_handler = before
        # Its C++ part sets a handler too, that Python does not know of.
        if threading.current_thread() is threading.main_thread() and handler is not None:
            signal.signal(signal.SIGTERM, handler)


def _elsewhere() -> JobConfig:
    """A job whose workers do not look for modules in the current folder.

    A user's folder called kernels there would hide this program's own from them, as it does not in
    a command. Ray leaves the folder out for jobs of its client, whose folder is on another machine.
    """
    return JobConfig(_client_job=True)


def _nothing(*args: object, **options: object) -> None:
    """Takes the place of what is not to be started."""


def _check_length(temporary: Path) -> None:
    if len(os.fsencode(temporary)) > _LONGEST_PATH_BYTES:
        raise UserError(
            f"the path {temporary} is too long for the sockets of Ray: set TMPDIR to a folder "
            f"whose path has at most {_LONGEST_PATH_BYTES} characters"
        )


def _start(cpus: int, folder: Path) -> None:
    try:
        ray.init(
            address="local",
            num_cpus=cpus,
            object_store_memory=_OBJECT_STORE_BYTES,
            include_dashboard=False,
            job_config=_elsewhere(),
            log_to_driver=False,
            logging_level="ERROR",
            _temp_dir=str(folder / _RAYS_FOLDER),  # Ray opens this one to all users
            # Ray's own 15 would leave a busy machine's boards no more of a processor than builds.
            _system_config={"worker_niceness": 0},
        )
    except Exception as error:  # Ray raises bare ones; whatever it is, it says why it cannot start
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"Ray does not start on this machine ({reason}): run the command again, on a busy "
            "machine after ending other programs"
        ) from error


def _check_answers(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        # Ray itself would try for two minutes before it reports that nothing answers.
        socket.create_connection((host, int(port)), timeout=_CONNECT_LIMIT_S).close()
    except OSError as error:
        raise UserError(
            f"no Ray cluster answers at {address}: "
            "start one with `ray start --head`, or leave --ray-address out"
        ) from error


def _join(address: str) -> None:
    try:
        ray.init(
            address=address, job_config=_elsewhere(), log_to_driver=False, logging_level="ERROR"
        )
    except (ConnectionError, RuntimeError) as error:
        raise UserError(
            f"the Ray cluster at {address} does not accept this program: "
            "run the same version of Ray on both, with the same RAY_AUTH_MODE"
        ) from error

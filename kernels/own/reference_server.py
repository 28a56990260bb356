"""A process that has torch, and forks for each run of a kernel; `reference_process` talks to it.

    server: torch
    |-- fork with Triton that interprets --- a fork for each run
    `-- fork with Triton that compiles  --- a fork for each run

Whether Triton interprets must be set before it is imported, and a kernel may end its process. To
import torch takes seconds, Triton half of one. The forks end with the server, and that ends with
whoever started it, or when it has had nothing to do for a minute.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

import torch  # noqa: F401  # what every fork has

__all__: list[str] = []

# It holds some 200 MB, and a study's kernel is run when its builders start.
_IDLE_LIMIT_S = 60.0
_PR_SET_PDEATHSIG = 1  # prctl(2)


def _main() -> None:
    """Pass each line of stdin to the fork that it is for, and print the status of the run."""
    requests, answers = os.dup(0), os.dup(1)
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 0)  # what a kernel's file reads and prints is no request and no answer
    os.dup2(quiet, 1)
    forks: dict[str, socket.socket] = {}
    with os.fdopen(requests) as lines:
        while select.select([requests], [], [], _IDLE_LIMIT_S)[0] and (line := lines.readline()):
            interprets = json.loads(line)["environment"]["TRITON_INTERPRET"]
            if interprets not in forks:
                forks[interprets] = _forked(interprets)
            forks[interprets].sendall(line.encode())
            if requests in select.select([requests, forks[interprets].fileno()], [], [])[0]:
                return  # nobody waits for the answer
            answer = forks[interprets].recv(64)
            if not answer:  # such as one whose memory ran out
                os.kill(os.getpid(), signal.SIGKILL)
            os.write(answers, answer)


def _forked(interprets: str) -> socket.socket:
    """A fork of this process with Triton, which runs what comes through the socket."""
    here, there = socket.socketpair()
    parent = os.getpid()
    if os.fork() == 0:
        here.close()
        _end_with(parent)
        os.environ["TRITON_INTERPRET"] = interprets
        # What every run of this fork has: imported for that alone.

        import kernels.own.reference_job  # noqa: F401

        if interprets == "0":
            import triton_rvv.pipeline
            import triton_rvv.runtime.host_launch  # noqa: F401

        with there.makefile("r") as lines:
            for line in lines:
                there.sendall(b"%d\n" % _status_of_run(json.loads(line)))
        os._exit(0)
    there.close()
    return here


def _status_of_run(request: dict[str, Any]) -> int:
    """Run a job in a fork, as a process of its own would; minus a signal that ended it."""
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _end_with(parent)
        os._exit(_run(request))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run(request: dict[str, Any]) -> int:
    os.dup2(os.open(request["errors"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    try:
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.path[:] = request["path"]
        from kernels.own.reference_job import run_job

        run_job(Path(request["given"]), Path(request["found"]))
        status = 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    return status


def _end_with(parent: int) -> None:
    """Have the system end this process when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


if __name__ == "__main__":
    _main()

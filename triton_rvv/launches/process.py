"""Starts to watch the launches of this process, and ends it in time."""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from triton_rvv.imports import when_imported

__all__ = ["FOLDER", "prepare_flag_gems", "start", "watched_environment"]

_TARGET = "TRITON_RVV_TARGET"
_SETTINGS = "TRITON_RVV_LAUNCHES"
FOLDER = Path(__file__).parent / "child"


def watched_environment(
    environment: Mapping[str, str], settings: Mapping[str, Any], target: str | None
) -> dict[str, str]:
    """The environment in which a program, and each Python that it starts, is watched.

    Args:
        environment: that of the program.
        settings: what `start` takes.
        target: what kernels run on if no GPU is there, as in TRITON_RVV_TARGET, unless the program
            says so itself; None for a GPU.
    """
    paths = [str(FOLDER), *filter(None, [environment.get("PYTHONPATH")])]
    named = environment.get(_TARGET, target)
    # A program may say that there is a GPU, and Triton would count the driver of that one, too.
    usual = {_TARGET: named, "TRITON_DEFAULT_BACKEND": "rvv"} if target and named else {}
    return {
        **usual,
        **environment,
        "PYTHONPATH": os.pathsep.join(paths),
        _SETTINGS: json.dumps(settings),
    }


def start(text: str) -> None:
    """Watch this process from now on.

    Args:
        text: JSON of the settings: "record" or "overlay" is the path of a capture's file or of an
            overlay; "keep_data" says whether large tensors are recorded as they are. Without any,
            packages are prepared as in runs that are watched, and nothing else is done.
    """
    settings = json.loads(text)
    if os.environ.get(_TARGET):
        from triton_rvv.runtime.repeated_calls import remember_calls

        remember_calls()  # before launches are intercepted, so that it stays inside
        from triton_rvv.cpu_backend import name_backend

        name_backend()  # packages define kernels only where torch says that there is Triton
    if not settings:
        return
    from triton_rvv.launches.interception import intercept

    watcher: Any
    if "record" in settings:
        from triton_rvv.launches.recorder import Recorder

        watcher = Recorder(Path(settings["record"]), keep_data=settings["keep_data"])
    else:
        from triton_rvv.launches.overlay import Overlay

        watcher = Overlay.read(Path(settings["overlay"]))
    intercept(watcher)
    _before_end(lambda: watcher.write(is_last=True))
    _before_sending(watcher.write)


def prepare_flag_gems() -> None:
    """Have FlagGems, which is about to be imported, know of this machine if there is no GPU."""
    target = os.environ.get(_TARGET)
    if target:
        from triton_rvv.flag_gems import register_if_new

        register_if_new(target)


def _before_end(write: Callable[[], None]) -> None:
    """Write once more before this process, or one that it forks, ends by itself."""
    leave = os._exit

    def leave_after_writing(status: int) -> NoReturn:
        # Processes of multiprocessing end so.
        try:
            write()
        finally:
            leave(status)

    os._exit = leave_after_writing
    atexit.register(write)


def _before_sending(write: Callable[[], None]) -> None:
    """Write before a process of multiprocessing sends anything.

    Whoever has its last result may end it at once by a signal, as pools do at the end of a `with`.
    """

    def prepare(connection: ModuleType) -> None:
        from multiprocessing import parent_process

        send = connection.Connection._send_bytes

        def send_after_writing(self: Any, data: Any) -> None:
            if parent_process() is not None:
                write()
            send(self, data)

        connection.Connection._send_bytes = send_after_writing

    when_imported("multiprocessing.connection", prepare)

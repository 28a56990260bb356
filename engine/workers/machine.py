"""Signs that this machine, and not a configuration, is why something failed."""

from __future__ import annotations

import os
import resource
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from foundation.errors import UserError
from foundation.user_folders import cache_folder, home

__all__ = ["check_can_work", "memory_kills", "refusal_to_write"]

_PROBE_BYTES = 4 << 20  # more than any build takes
_LARGEST_FILE_BYTES = 256 << 20  # Ray's shared memory, with room for logs and arrays
_LOOPBACK_LIMIT_S = 10.0
_SHARED_MEMORY = Path("/dev/shm")


def check_can_work(temporary: Path, builds: Path) -> None:
    """Check what the worker processes need of this machine, and give them a `HOME`.

    Ray, zig and Triton report what is missing in their own words, after a while, or not at all.

    Args:
        temporary: the folder of temporary files.
        builds: the folder of builds; made if missing.

    Raises:
        UserError: if something is missing.
    """
    os.environ.setdefault("HOME", str(home()))  # zig asks for nothing else
    _check_file_size()
    _check_loopback()
    _check_folder(cache_folder(), "set XDG_CACHE_HOME to another folder")
    _check_folder(builds, "start in another folder")
    _check_folder(temporary, "set TMPDIR to another folder")
    _check_shared_memory()
    _check_utf8(Path.cwd())
    _check_utf8(temporary)


def _check_folder(folder: Path, otherwise: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made ({error.strerror}): {otherwise}") from error
    refusal = refusal_to_write([folder])
    if refusal:
        raise UserError(f"{refusal}: make room there, or {otherwise}")


def _check_shared_memory() -> None:
    """Where it may not write, Ray waits for ever; where there is none, it takes another folder."""
    refusal = refusal_to_write([_SHARED_MEMORY]) if _SHARED_MEMORY.exists() else ""
    if refusal:
        raise UserError(f"{refusal}, and Ray needs it: make room there, or mount it for writing")


def _check_file_size() -> None:
    limit_bytes = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit_bytes != resource.RLIM_INFINITY and limit_bytes < _LARGEST_FILE_BYTES:
        raise UserError(
            f"files may not grow beyond {limit_bytes >> 10} KiB here (ulimit -f), and Ray needs "
            f"{_LARGEST_FILE_BYTES >> 10}: raise the limit"
        )


def _check_loopback() -> None:
    """Ray's processes talk to each other by this machine's own address."""
    with socket.socket() as listener, socket.socket() as caller:
        try:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            caller.settimeout(_LOOPBACK_LIMIT_S)
            caller.connect(listener.getsockname())
        except OSError as error:
            raise UserError(
                f"programs on this machine cannot reach 127.0.0.1 ({error}), which Ray needs: "
                "run ip link set lo up as root"
            ) from error


def _check_utf8(folder: Path) -> None:
    """Ray passes paths on as UTF-8, whatever the locale says."""
    if os.fsencode(folder) != str(folder).encode(errors="replace"):
        raise UserError(
            f"the path {folder} is not UTF-8 in this locale, and Ray takes no other: "
            "set LC_ALL=C.UTF-8, or choose another folder"
        )


def refusal_to_write(folders: Sequence[Path]) -> str:
    """Why a folder does not take as much as a build, such as a full disk; "" if all do."""
    for folder in folders:
        try:
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(bytes(_PROBE_BYTES))
                probe.flush()
        except OSError as error:
            return f"{folder} cannot be written to: {error.strerror}"
    return ""


def memory_kills() -> int:
    """Processes that Linux has ended since it started because memory ran out (proc(5), vmstat)."""
    for line in Path("/proc/vmstat").read_text().splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill":
            return int(count)
    return 0

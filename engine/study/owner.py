"""The process that measures a trial, and whether it is still alive."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

__all__ = ["BEAT_S", "Owner"]

# A process tells the study every so often that it is alive, which is how those on other machines
# know. Their clocks have to agree to a few minutes.
BEAT_S = 60.0
_SILENT_AFTER_S = 5 * BEAT_S

# One that never told, as earlier versions do not, is given up after a time that no trial takes.
_UNHEARD_AFTER = timedelta(hours=1)


@dataclass(frozen=True)
class Owner:
    """A process, distinct from a later one with the same id.

    Args:
        host: name of its machine.
        boot_id: Linux's id of the machine's current boot, which ends all earlier processes.
        pid: its id.
        start_ticks: when it started, in clock ticks since boot.
    """

    host: str
    boot_id: str
    pid: int
    start_ticks: int

    @classmethod
    def this_process(cls) -> Owner:
        """The calling process."""
        pid = os.getpid()
        return cls(socket.gethostname(), _boot_id(), pid, _start_ticks(pid) or 0)

    @classmethod
    def from_json(cls, value: object) -> Owner | None:
        """The inverse of `to_json`, or None for anything else."""
        match value:
            case {
                "host": str(host),
                "boot_id": str(boot_id),
                "pid": int(pid),
                "start_ticks": int(start_ticks),
            }:
                return cls(host, boot_id, pid, start_ticks)
        return None

    def to_json(self) -> Mapping[str, str | int]:
        """Its fields, as a JSON object."""
        return asdict(self)

    @property
    def heartbeat(self) -> str:
        """Name of the study's attribute that holds when the process was last known to live."""
        process = f"{self.host} {self.boot_id} {self.pid} {self.start_ticks}"
        return f"tuner:heartbeat:{hashlib.sha256(process.encode()).hexdigest()[:16]}"

    def is_dead(self, age: timedelta, silent_s: float | None) -> bool:
        """Whether the process can no longer finish a trial.

        Args:
            age: of the trial.
            silent_s: seconds since the process's last heartbeat; None if it had none.
        """
        if self.host != socket.gethostname():
            return age > _UNHEARD_AFTER if silent_s is None else silent_s > _SILENT_AFTER_S
        return self.boot_id != _boot_id() or _start_ticks(self.pid) != self.start_ticks


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _start_ticks(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat (see proc(5)), or None if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is a name in brackets that may hold spaces; fields are counted after it.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])

"""Signs that this machine, and not a configuration, is why a build failed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["memory_kills", "refusal_to_write"]

_PROBE_BYTES = 4 << 20  # more than any build takes


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

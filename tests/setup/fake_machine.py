"""A machine made of fakes for the set-up script: its PATH holds only what a test puts there."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["FAKE_PYTHON", "QEMU", "RUN_TIMEOUT_S", "STATIC_QEMU", "Machine"]

RUN_TIMEOUT_S = 200


# What `qemu-riscv64 --help` says of plug-ins: Debian 12's, and Debian 13's.
QEMU = "echo usage; echo '-plugin              QEMU_PLUGIN       [file=]<file>'"
STATIC_QEMU = (
    "echo usage; echo '-one-insn-per-tb                     run with one guest instruction'"
)

# Stands for the system's Python and for the one of the environment; notes every call.
FAKE_PYTHON = """#!/bin/sh
case "$*" in
    "-c import sys"* | "-c import ensurepip"* | "-ISc "*) ;;
    *) echo "$(basename "$0") $*" >>"$CALLS" ;;
esac
case "$*" in
    "-c import sys"*) exit "${PYTHON_TOO_OLD:-0}" ;;
    "-c import ensurepip"*) exit "${PYTHON_WITHOUT_VENV:-0}" ;;
    "-ISc "*) echo 3 11 7 ;;
    "-m venv "*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    "-m pip "*) eval "${WHEN_PIP_RUNS:-}" ;;
    "-m rvv_runner qemu") eval "${WHEN_QEMU_IS_BUILT:-}" ;;
    -) cat >/dev/null; eval "${WHEN_CACHES_ARE_WARMED:-}" ;;
esac
"""


@dataclass
class Machine:
    """Where a copy of the script runs.

    Args:
        folder: holds the project, the home and the tools.
        environment: of the next runs; tests may add to it.
    """

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def add_tool(self, name: str, script: str = "") -> None:
        path = self.folder / "tools" / name
        path.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def remove_tool(self, name: str) -> None:
        (self.folder / "tools" / name).unlink()

    def start(
        self, project: Path | None = None, arguments: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [(project or self.project) / "setup.sh", *arguments],
            cwd=self.folder,
            env={
                "PATH": str(self.folder / "tools"),
                "HOME": str(self.folder / "home"),
                "CALLS": str(self.folder / "calls"),
                **self.environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def set_up(self, project: Path | None = None, arguments: Sequence[str] = ()) -> tuple[int, str]:
        """Run the script; its exit status and the last line it printed. It never uses stdout."""
        process = self.start(project, arguments)
        stdout, stderr = process.communicate(timeout=RUN_TIMEOUT_S)
        assert stdout == ""
        return process.returncode, (stderr.splitlines() or [""])[-1]

    def calls(self) -> list[str]:
        """What was called since the last time one asked."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

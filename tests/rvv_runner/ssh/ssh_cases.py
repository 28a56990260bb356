"""What the tests of boards over SSH share: a kernel, its data, the wrapper it runs under."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ssh_server import SshServer

from launchers import Argument
from triton_rvv.runtime.qemu import cpu_option
from triton_rvv.targets.target import RVVTarget

__all__ = ["SCALE", "TIMEOUT_S", "WRAPPER", "doubled", "processes_with", "set_path"]

TIMEOUT_S = 200.0
WRAPPER = ("qemu-riscv64", "-cpu", cpu_option(Path("qemu-riscv64"), RVVTarget.named("x60")))

COUNT = 1000
SCALE = "float *v = (float *)args[0]; for (int i = 0; i < 1000; i++) v[i] *= 2;"


def doubled() -> list[Argument]:
    """Numbers that SCALE doubles."""
    values = np.arange(COUNT, dtype=np.float32)
    return [Argument("v", "*fp32", values, values * 2)]


def processes_with(argument: str) -> list[str]:
    """Command lines that have `argument` among their words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if argument in words:
            found.append(" ".join(words))
    return found


def set_path(server: SshServer, path: str) -> None:
    """Start the server again so that its users find programs there."""
    config = server.folder / "sshd_config"
    config.write_text(f"{config.read_text()}\nSetEnv PATH={path}\n")
    server.stop()
    server.start()

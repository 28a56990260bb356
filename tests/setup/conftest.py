"""The set-up script, copied to a machine on which nothing is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fake_machine import FAKE_PYTHON, QEMU, Machine

REPOSITORY = Path(__file__).parents[2]

# What every Debian has and the script or the fakes use.
BASE_TOOLS = "basename cat cksum cp dirname env flock grep ls mkdir mkfifo rm sed sleep touch tr"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which nothing is missing, in a folder with a space in its name."""
    machine = Machine(tmp_path / "a machine")
    for folder in (
        "tools",
        "home",
        "project/launchers",
        "project/rvv_runner/emulated",
        "project/triton_rvv/runtime",
    ):
        (machine.folder / folder).mkdir(parents=True)
    for name in ("setup.sh", "pyproject.toml", "constraints.txt", "triton_rvv/runtime/qemu.py"):
        shutil.copy2(REPOSITORY / name, machine.project / name)
    for source in ("launchers/launcher.c", "rvv_runner/emulated/plugin.c"):
        (machine.project / source).write_text("")
    for name in BASE_TOOLS.split():
        found = shutil.which(name)
        assert found is not None
        (machine.folder / "tools" / name).symlink_to(found)
    machine.add_tool("qemu-riscv64", QEMU)
    machine.add_tool("cc", "cat >/dev/null")
    machine.add_tool("python3", FAKE_PYTHON)
    machine.add_tool("whereis", "echo sshd: /usr/sbin/sshd")
    return machine

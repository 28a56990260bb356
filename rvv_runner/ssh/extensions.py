"""The extensions that code needs: what a board lists, and what an emulator there has to be told."""

from __future__ import annotations

import json

from rvv_runner.board_file import BoardFile
from rvv_runner.ssh.session import Session
from triton_rvv.runtime.qemu import QemuError, cpu_option_of, version_in
from triton_rvv.targets.target import RVVTarget

__all__ = ["emulator_line", "missing_extensions"]

_QEMU = "qemu-riscv64"

# Extensions that generated code uses besides the base and the vectors; see
# triton_rvv/targets/target.py.
_EXTENSIONS = ("zba", "zbb", "zbs")


def emulator_line(session: Session, board: BoardFile) -> str:
    """The line of a board file with which QEMU there runs code for the board, in the words of its
    version; why it cannot, if it is too old."""
    target = RVVTarget.named(board.cpu, board.vlen_bits)
    version = version_in(session.run(f"{_QEMU} --version").output)
    try:
        words = [_QEMU, "-cpu", cpu_option_of(version, target, f"{_QEMU} there")]
    except QemuError as error:
        return f"({error})"
    return f"wrapper = {json.dumps(words)}"


def missing_extensions(isa: str) -> list[str]:
    """Extensions that the code uses and an isa line of /proc/cpuinfo lacks; none without a line.

    The line starts with the single-letter extensions; the others follow, separated by underscores.
    "b" means zba, zbb and zbs.
    """
    if not isa:
        return []
    letters, *names = isa.lower().split("_")
    letters = letters.removeprefix("rv64")
    missing = [] if "v" in letters else ["v"]
    if "b" not in letters:
        missing += [name for name in _EXTENSIONS if name not in names]
    return missing

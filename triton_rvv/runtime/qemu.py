"""Which QEMU runs RISC-V programs here, and what it has to be told of a target."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path

from foundation.errors import CommandError
from foundation.programs import python_command
from foundation.user_folders import cache_folder
from triton_rvv.targets.cores import DEFAULT_EXTENSIONS
from triton_rvv.targets.matrix_unit import MATRIX_EXTENSION
from triton_rvv.targets.target import RVVTarget

__all__ = [
    "BUILT_VERSION",
    "QemuError",
    "built_qemu",
    "cpu_option",
    "cpu_option_of",
    "environment_options",
    "find_qemu",
    "qemu_version",
    "version_in",
]

BUILT_VERSION = "10.0.13"  # of Debian 13

_NAME = "qemu-riscv64"
_LIMIT_S = 20.0

# Since this version, QEMU has LLVM's names of the extensions. Before, Zvfh comes with Zfh, and
# cache hints and what is to be absent need no word; of the others it has none.
_NAMES_EXTENSIONS = (8, 2)
_OLD_NAMES = "Zfh=true,zba=true,zbb=true,zbs=true"


class QemuError(CommandError):
    """There is no QEMU, or it lacks what a target needs; one sentence says what to do."""


def built_qemu() -> Path:
    """Where `python -m rvv_runner qemu` puts the QEMU that it builds.

    Raises:
        UserError: if the user's home is not known.
    """
    return cache_folder() / f"qemu-{BUILT_VERSION}" / _NAME


def find_qemu() -> Path:
    """The QEMU that was built for this user, otherwise the first in PATH.

    Raises:
        QemuError: if there is neither.
    """
    built = built_qemu()
    if built.exists():
        return built
    found = shutil.which(_NAME)
    if found is None:
        raise QemuError("qemu-riscv64 is not installed: run sudo apt-get install qemu-user")
    return Path(found)


def cpu_option(qemu: Path, target: RVVTarget) -> str:
    """The value of -cpu for a core that has what code for `target` may use.

    Raises:
        QemuError: if this QEMU is too old for the target.
    """
    return cpu_option_of(qemu_version(qemu), target, str(qemu))


def cpu_option_of(version: tuple[int, ...], target: RVVTarget, qemu: str) -> str:
    """The same for a QEMU on any machine.

    Args:
        version: as `version_in` reads it; nothing for an old one.
        target: what the code is made for.
        qemu: what the message calls it.

    Raises:
        QemuError: if it is too old for the target.
    """
    core = f"rv64,v=true,vlen={target.vlen_bits},elen=64,vext_spec=v1.0"
    extensions = [name for name in target.extensions if name != MATRIX_EXTENSION]
    if version >= _NAMES_EXTENSIONS:
        return ",".join([core, *map(_named, extensions)])
    lacking = [name[1:] for name in extensions if name not in DEFAULT_EXTENSIONS]
    if lacking:
        raise QemuError(
            f"{qemu} is too old for code with {', '.join(lacking)}: run "
            f"{python_command('rvv_runner')} qemu, which builds a newer one"
        )
    return f"{core},{_OLD_NAMES}"


def environment_options(target: RVVTarget) -> tuple[str, ...]:
    """QEMU's options for what a program has to find in its environment.

    No QEMU of Debian's knows the matrix instructions, so the program computes them itself
    (launchers/matrix_unit.h).
    """
    return ("-E", "TRITON_RVV_MATRIX_UNIT=software") if target.matrix_unit else ()


def _named(extension: str) -> str:
    return f"{extension[1:]}={'true' if extension.startswith('+') else 'false'}"


@functools.cache
def qemu_version(qemu: Path) -> tuple[int, ...]:
    """The version that a QEMU prints; nothing where it prints none."""
    try:
        said = subprocess.run(
            [str(qemu), "--version"], capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return version_in(said.stdout)


def version_in(said: str) -> tuple[int, ...]:
    """The version in what `qemu-riscv64 --version` prints, such as (7, 2, 22); nothing if none."""
    found = re.search(r"\bversion (\d+(?:\.\d+)*)", said)
    return tuple(map(int, found[1].split("."))) if found else ()

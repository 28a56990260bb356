"""Programs of this Python environment, as users can paste them."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from foundation.interrupts import SCRIPT

__all__ = ["MAKE_CAPTURE", "program", "python_command"]

# The end of a sentence about a capture that does not exist.
MAKE_CAPTURE = "make a capture with `rvv-tune capture -o FILE -- python program.py`"

# The script's command for each package; "" where each module is one, of its name.
_SCRIPTS_PACKAGES = {"engine": "", "rvv_runner": "boards"}


def program(name: str) -> str:
    """How to start a program of this environment: by its name if it is first on PATH.

    Otherwise by its path, relative if it is below the current folder.
    """
    path = Path(sys.executable).with_name(name)
    found = shutil.which(name)
    if found is not None and Path(found) == path:
        return name
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def python_command(module: str) -> str:
    """How to run a module: ".venv/bin/python -m engine.tune".

    Where this process was started as the script, a command of it: ".venv/bin/rvv-tune tune".
    """
    package, _, name = module.partition(".")
    if Path(sys.argv[0]).name == SCRIPT and package in _SCRIPTS_PACKAGES:
        command = _SCRIPTS_PACKAGES[package] or name.replace("_", "-")
        return f"{shlex.quote(program(SCRIPT))} {command}".rstrip()
    return f"{shlex.quote(program(Path(sys.executable).name))} -m {module}"

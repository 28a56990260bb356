"""The C library's threads, natively and under the sanitizers of gcc."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("pool_program.c")


def ended(folder, *arguments, sanitizer=None):
    """What the program printed, or why it failed."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    own = Path(str(files("engine.c_library")))
    flags = ["-g", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{own}", "-pthread"]
    if sanitizer is not None:
        flags.append(f"-fsanitize={sanitizer}")
    program = folder / "program"
    command = ["gcc", *flags, str(PROGRAM), str(own / "pool.c"), "-o", str(program)]
    subprocess.run(command, check=True, timeout=200)
    done = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, timeout=200, check=False
    )
    return done.stdout + done.stderr


def test_a_forked_process_has_threads_of_its_own(tmp_path):
    assert ended(tmp_path, "fork") == "right\n"


@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_nothing_races_or_leaks(tmp_path, sanitizer):
    assert ended(tmp_path, sanitizer=sanitizer) == "right\n"

"""The launcher's object file and its cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from launchers import objects
from launchers.objects import launcher_object
from triton_rvv.codegen.link import link_elf
from triton_rvv.targets.target import RVVTarget

PRINT_PATH = """
from launchers.objects import launcher_object
from triton_rvv.targets.target import RVVTarget
print(launcher_object(RVVTarget(vlen_bits=256)))
"""


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    """An empty folder for the launcher's cache, while zig keeps the libc it has built."""
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    zig_cache = os.environ.get("ZIG_GLOBAL_CACHE_DIR") or str(user_cache / "zig")
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", zig_cache)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def short_source(monkeypatch):
    """A launcher of one file, which compiles sooner."""
    monkeypatch.setattr(objects, "SOURCES", ("check.c",))


def test_processes_that_build_it_at_once_share_one_whole_file(empty_cache, build_object, tmp_path):
    started = [
        subprocess.Popen([sys.executable, "-c", PRINT_PATH], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    paths = {process.communicate(timeout=200)[0].strip() for process in started}
    assert [process.returncode for process in started] == [0, 0, 0]
    assert len(paths) == 1
    path = Path(paths.pop())
    assert list((empty_cache / "triton-rvv-tuner" / "launchers").iterdir()) == [path]
    link_elf([build_object(""), path], tmp_path / "kernel.elf")


@pytest.mark.usefixtures("short_source")
def test_second_call_compiles_nothing(empty_cache, monkeypatch):
    first = launcher_object(RVVTarget(vlen_bits=256))
    monkeypatch.setattr(objects, "run_zig_cc", None)
    assert launcher_object(RVVTarget(vlen_bits=256)) == first


@pytest.mark.usefixtures("short_source")
@pytest.mark.parametrize(
    ("name", "value"),
    [("_FLAGS", (*objects._FLAGS, "-DOTHER")), ("zig_version", lambda: "0.0.1")],
)
def test_other_flags_or_compiler_give_another_file(empty_cache, monkeypatch, name, value):
    first = launcher_object(RVVTarget(vlen_bits=256))
    monkeypatch.setattr(objects, name, value)
    assert launcher_object(RVVTarget(vlen_bits=256)) != first


@pytest.mark.usefixtures("short_source")
def test_changed_source_gives_another_file(empty_cache, monkeypatch, tmp_path):
    first = launcher_object(RVVTarget(vlen_bits=256))
    for path in objects._SOURCE_FOLDER.glob("*.[ch]"):
        text = path.read_text()
        (tmp_path / path.name).write_text(text + "\n" if path.name == "check.h" else text)
    monkeypatch.setattr(objects, "_SOURCE_FOLDER", tmp_path)
    assert launcher_object(RVVTarget(vlen_bits=256)) != first


def test_it_needs_no_vector_unit_of_the_compiler(empty_cache):
    """The object's attributes name the extensions that its instructions come from."""
    attributes = launcher_object(RVVTarget(vlen_bits=256)).read_bytes()
    assert b"rv64i" in attributes
    assert b"_v1p0" not in attributes
    assert b"_zve" not in attributes


def test_no_cache_folder_is_one_clear_error(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(OSError, match=str(tmp_path / "file")):
        launcher_object(RVVTarget(vlen_bits=256))
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]

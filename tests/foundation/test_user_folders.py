"""Folders below the user's home, and what is done where that cannot be written to."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from foundation.user_folders import triton_elsewhere


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for variable in ("TRITON_CACHE_DIR", "TRITON_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "a file" / "home"))
    (tmp_path / "a file").touch()  # below which even root can make nothing
    return tmp_path


def test_triton_keeps_kernels_elsewhere_where_there_is_no_home(temporary: Path) -> None:
    folder = temporary / f"triton-rvv-tuner-{os.getuid()}"
    assert triton_elsewhere(os.environ) == {"TRITON_CACHE_DIR": str(folder / "triton")}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert triton_elsewhere(os.environ) == {"TRITON_CACHE_DIR": str(folder / "triton")}
    shared = str(temporary / "caches" / "mine")
    elsewhere = triton_elsewhere({**os.environ, "XDG_CACHE_HOME": shared})
    assert elsewhere == {"TRITON_CACHE_DIR": f"{shared}/triton-rvv-tuner/triton"}


def test_a_home_in_a_folder_that_others_have_closed_is_none(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary / "closed").mkdir(mode=0)
    monkeypatch.setenv("HOME", str(temporary / "closed" / "home"))
    is_root = os.getuid() == 0
    if is_root:  # whom nothing is closed to
        os.setresuid(65534, 65534, 0)
    try:
        elsewhere = triton_elsewhere({**os.environ, "XDG_CACHE_HOME": "/tmp/mine"})
    finally:
        if is_root:
            os.setresuid(0, 0, 0)
    assert elsewhere == {"TRITON_CACHE_DIR": "/tmp/mine/triton-rvv-tuner/triton"}


def test_a_user_whom_the_system_does_not_know_has_no_home(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    (folder,) = triton_elsewhere(os.environ).values()
    assert folder == str(temporary / f"triton-rvv-tuner-{os.getuid()}" / "triton")


def test_another_users_folder_is_not_taken(temporary: Path) -> None:
    (temporary / f"triton-rvv-tuner-{os.getuid()}").symlink_to("/")
    (folder,) = triton_elsewhere(os.environ).values()
    assert Path(folder).parent.parent == temporary
    assert not Path(folder).parent.is_symlink()


@pytest.mark.parametrize("variable", ["HOME", "TRITON_HOME", "TRITON_CACHE_DIR"])
def test_triton_keeps_kernels_where_it_may(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(temporary / "new"))
    assert triton_elsewhere(os.environ) == {}

"""What building a QEMU needs: its source unchanged, and packages that are named where missing."""

from __future__ import annotations

import hashlib

import pytest

from foundation.errors import UserError
from rvv_runner.emulated.build_qemu import build_qemu, download
from triton_rvv.runtime.qemu import built_qemu

CONTENTS = b"the source"
HASH = hashlib.sha256(CONTENTS).hexdigest()


@pytest.fixture
def archives(tmp_path):
    """Addresses of a file that is not there, of a changed one, and of the right one."""
    (tmp_path / "changed").write_bytes(b"another source")
    (tmp_path / "right").write_bytes(CONTENTS)
    return [f"file://{tmp_path / name}" for name in ("missing", "changed", "right")]


def test_the_first_archive_with_the_right_file_is_taken(tmp_path, archives):
    download(archives, HASH, tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == CONTENTS


def test_a_changed_source_is_refused_with_what_each_archive_had(tmp_path, archives):
    with pytest.raises(UserError) as refusal:
        download(archives[:2], HASH, tmp_path / "got")
    said = str(refusal.value)
    assert "No such file" in said
    assert f"its hash is {hashlib.sha256(b'another source').hexdigest()} instead of" in said


def test_missing_packages_are_named_before_anything_is_downloaded(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said: list[str] = []
    with pytest.raises(UserError, match=r"run sudo apt-get install gcc .* libglib2\.0-dev"):
        build_qemu(said.append)
    assert said == []


def test_what_is_built_already_is_taken(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    built_qemu().parent.mkdir(parents=True)
    built_qemu().write_text("#!/bin/sh\necho qemu-riscv64 version 10.0.13\n")
    built_qemu().chmod(0o755)
    assert build_qemu(print) == built_qemu()


def test_one_that_starts_no_more_is_built_again(monkeypatch, tmp_path):
    """As after a new version of the system, which lacks a library that it was linked with."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    built_qemu().parent.mkdir(parents=True)
    built_qemu().write_text("#!/bin/sh\nexit 127\n")
    built_qemu().chmod(0o755)
    with pytest.raises(UserError, match="packages to build QEMU with are missing"):
        build_qemu(print)

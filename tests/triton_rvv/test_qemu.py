"""Which QEMU is found, and what it is told of a core."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_rvv.runtime.qemu import QemuError, built_qemu, cpu_option, find_qemu, qemu_version
from triton_rvv.targets.target import RVVTarget


def qemu_of(folder: Path, version: str) -> Path:
    """A program that says it is QEMU of a version."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "qemu-riscv64"
    path.write_text(f"#!/bin/sh\necho 'qemu-riscv64 version {version} (Debian 1:9.9)'\n")
    path.chmod(0o755)
    return path


def test_the_built_one_comes_before_the_systems(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(QemuError, match="run sudo apt-get install qemu-user"):
        find_qemu()
    systems = qemu_of(tmp_path / "bin", "7.2.22")
    assert find_qemu() == systems
    built = qemu_of(built_qemu().parent, "10.0.13")
    assert find_qemu() == built


def test_the_version_is_read_as_numbers(tmp_path):
    assert qemu_version(qemu_of(tmp_path / "one", "10.0.13")) == (10, 0, 13)
    assert qemu_version(qemu_of(tmp_path / "two", "9.1.0-rc1")) == (9, 1, 0)
    assert qemu_version(tmp_path / "none") == ()


def test_each_version_is_told_of_half_precision_in_its_own_words(tmp_path):
    old, new = qemu_of(tmp_path / "old", "7.2.22"), qemu_of(tmp_path / "new", "10.0.13")
    target = RVVTarget(vlen_bits=512)
    assert "Zfh=true" in cpu_option(old, target).split(",")
    assert "zvfh" not in cpu_option(old, target)
    assert "zvfh=true" in cpu_option(new, target).split(",")
    assert "vlen=512" in cpu_option(old, target).split(",")
    assert "vlen=512" in cpu_option(new, target).split(",")


def test_an_old_one_lacks_what_newer_cores_have(tmp_path):
    old, new = qemu_of(tmp_path / "old", "7.2.22"), qemu_of(tmp_path / "new", "10.0.13")
    target = RVVTarget.named("x100")
    assert "zvfbfwma=true" in cpu_option(new, target).split(",")
    with pytest.raises(QemuError, match=r"too old for code with .*zvfbfwma: run .*rvv_runner qemu"):
        cpu_option(old, target)

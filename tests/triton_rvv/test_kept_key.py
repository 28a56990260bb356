"""Triton's digest of its own files is its own, and is read again where they change."""

from __future__ import annotations

import os
from pathlib import Path

from triton.runtime import cache

from triton_rvv.runtime import kept_key


def test_it_is_tritons_and_is_computed_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    package = tmp_path / "triton"
    for file in ("compiler/code.py", "_C/libtriton.so"):
        (package / file).parent.mkdir(parents=True)
        (package / file).write_text("1")
    read = []

    def digest() -> str:
        read.append(1)
        return f"digest {len(read)}"

    def in_a_process() -> str:
        return kept_key._kept(digest, package)()

    assert [in_a_process(), in_a_process()] == ["digest 1"] * 2
    (package / "_C" / "libtriton.so").write_text("2")
    assert in_a_process() == "digest 2"
    (package / "compiler" / "more.py").touch()
    assert in_a_process() == "digest 3"
    # Where it cannot be kept, it is Triton's still.
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert [in_a_process(), in_a_process()] == ["digest 4", "digest 5"]


def test_every_file_that_triton_reads_counts(monkeypatch):
    package = Path(cache.__file__).parents[1]
    watched = {line.partition("\t")[0] for line in kept_key._files(package)}
    opened = []

    def noted(path, mode):
        """Nothing instead of the file, which may be large."""
        opened.append(str(path))
        return Path(os.devnull).open(mode)

    monkeypatch.setattr(cache, "open", noted, raising=False)
    read = cache.triton_key
    while hasattr(read, "__wrapped__"):
        read = read.__wrapped__
    code = read.__code__
    assert code.co_filename == cache.__file__
    read()
    assert opened
    assert set(opened) <= watched

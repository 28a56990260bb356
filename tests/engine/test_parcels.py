"""Files that travel between machines: only what is missing, whole, unchanged, and to its place."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from engine.workers.parcels import files_of, missing, packed, unpack
from rvv_runner.measurement import ElfArtifact


@pytest.fixture
def builds(tmp_path: Path) -> Path:
    return tmp_path / "builds"


@pytest.fixture
def artifact(builds: Path) -> ElfArtifact:
    (builds / "matmul").mkdir(parents=True)
    elf, data = builds / "matmul" / "kernel.elf", builds / "inputs.data"
    elf.write_bytes(b"machine code")
    elf.chmod(0o755)
    elf.with_suffix(".llir").write_text("text")
    data.write_bytes(bytes(1000))
    return ElfArtifact(elf, "0" * 64, data, (1, 1, 1), 256)


def test_what_is_missing_arrives_whole_with_what_was_built_beside_it(
    builds: Path, artifact: ElfArtifact
) -> None:
    files = files_of(artifact)
    assert missing(files) == ()
    contents = {file.path: file.path.read_bytes() for file in files}
    assert {path.name for path in contents} == {"kernel.elf", "kernel.llir", "inputs.data"}
    parcels = packed(files)
    artifact.elf_path.unlink()
    artifact.data_path.write_bytes(bytes(999) + b"1")  # of the same size
    assert {file.path for file in missing(files)} == {artifact.elf_path, artifact.data_path}
    unpack(parcels, builds)
    assert {path: path.read_bytes() for path in contents} == contents
    assert missing(files) == ()


def test_contents_that_were_changed_on_the_way_are_refused(
    builds: Path, artifact: ElfArtifact
) -> None:
    (parcel,) = (one for one in packed(files_of(artifact)) if one.file.path == artifact.elf_path)
    artifact.elf_path.unlink()
    with pytest.raises(OSError, match="was changed on its way here"):
        unpack([dataclasses.replace(parcel, contents=b"machine cade")], builds)
    assert not artifact.elf_path.exists()


def test_nothing_is_written_elsewhere(tmp_path: Path, builds: Path, artifact: ElfArtifact) -> None:
    parcel = packed(files_of(artifact))[0]
    for path in (tmp_path / "file", builds / ".." / "file"):
        moved = dataclasses.replace(parcel, file=dataclasses.replace(parcel.file, path=path))
        with pytest.raises(OSError, match="is not in"):
            unpack([moved], builds)
    assert not (tmp_path / "file").exists()

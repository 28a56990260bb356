"""Files that travel between machines: only what is missing, whole, unchanged, and to its place."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from engine.workers.parcels import files_of, missing, packed, place_sources, sources, unpack
from foundation.errors import UserError
from kernels.captured.task_file import CAPTURE_HEAD
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


def test_a_capture_that_has_got_winners_is_the_same_file(tmp_path: Path) -> None:
    """A builder that is replaced while a program is tuned opens with the file of the beginning."""
    path = tmp_path / "program.capture"
    path.write_bytes(CAPTURE_HEAD + b"}\n")
    before = sources([path])
    path.write_bytes(path.read_bytes() + b'{"record": "winner"}\n')
    grown, after = path.read_bytes(), sources([path])
    place_sources(before)
    assert path.read_bytes() == grown
    path.write_bytes(before[0].contents)  # as another machine has it
    place_sources(after)
    assert path.read_bytes() == grown


@pytest.mark.parametrize("there", [b"", b"BLOCK = 64\n", b"BLOCK = 64\nn = 1\nm = 2\n"])
def test_a_users_file_that_differs_is_refused(tmp_path: Path, there: bytes) -> None:
    path = tmp_path / "kernel.py"
    path.write_bytes(b"BLOCK = 64\nn = 1\n")
    sent = sources([path])
    path.write_bytes(there)
    with pytest.raises(UserError, match="is another file on"):
        place_sources(sent)

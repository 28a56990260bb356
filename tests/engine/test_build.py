"""Building one configuration for real: what is kept, what is found again, what cannot be built."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import build as build_module
from engine.artifacts import ArtifactStore, BuildFailure
from engine.build import BuildRequest, KernelBuilder
from rvv_runner.measurement import Artifact
from search_spaces.config import Config
from triton_rvv.target import Target

pytestmark = pytest.mark.timeout(180)

CONFIG = Config({"BLOCK_SIZE": 256})


def builder(folder: Path, size: int = 1000) -> KernelBuilder:
    store = ArtifactStore(folder)
    return KernelBuilder(BuildRequest("vector_add", {"N": size}, "fp32", Target(), store))


def built(result: Artifact | BuildFailure) -> Artifact:
    assert isinstance(result, Artifact), result
    return result


def test_a_build_is_kept_and_found_again(tmp_path: Path) -> None:
    first = built(builder(tmp_path).build(CONFIG))
    made_at = first.elf_path.stat().st_mtime_ns
    again = built(builder(tmp_path).build(CONFIG))
    assert again == first
    assert again.elf_path.stat().st_mtime_ns == made_at
    assert first.grid == (4, 1, 1)
    assert "vle32.v" in first.elf_path.with_suffix(".s").read_text()
    assert first.provenance["config"] == {"BLOCK_SIZE": 256}
    other = built(builder(tmp_path).build(Config({"BLOCK_SIZE": 512})))
    assert other.elf_path != first.elf_path
    assert other.data_path == first.data_path
    larger = built(builder(tmp_path, size=2000).build(CONFIG))
    assert larger.data_path != first.data_path


def test_the_same_build_elsewhere_is_the_same_elf(tmp_path: Path) -> None:
    elves = [built(builder(tmp_path / name).build(CONFIG)) for name in ("a", "b")]
    assert elves[0].sha256 == elves[1].sha256


def test_what_does_not_compile_is_a_reason(tmp_path: Path) -> None:
    failure = builder(tmp_path).build(Config({"BLOCK_SIZE": 100}))
    assert isinstance(failure, BuildFailure)
    assert "power of 2" in failure.reason
    assert list((tmp_path / "vector_add").iterdir()) == []


def test_a_fault_of_the_compiler_is_a_reason_with_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("tt.unheard_of")

    monkeypatch.setattr(build_module, "compile_kernel", broken)
    failure = builder(tmp_path).build(CONFIG)
    assert isinstance(failure, BuildFailure)
    report = Path(failure.reason.rpartition(" ")[2])
    assert "KeyError ('tt.unheard_of')" in failure.reason
    assert report.read_text().startswith("Traceback")

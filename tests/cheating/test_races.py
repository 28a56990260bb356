"""What depends on when programs run is found where all of them are watched, on no board."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from pairs import in_turn
from small_shapes import RAGGED

from engine.workers import kernel_builder, race_check
from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from kernels.registry import load_kernel, make_problem
from rvv_runner import ElfArtifact
from rvv_runner.devices import load_board
from rvv_runner.process import run_bounded
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.host_target import host_target

pytestmark = pytest.mark.timeout(120)

FILE = Path(__file__).parent / "written_with_races.py"
ORDER = "with its programs at once: the result depends on the order of programs"
UNORDERED = ", and no atomic operation orders the two"
RACES = [
    ("blended", f"{ORDER}: program 1 reads y_ptr[2], which program 0 writes{UNORDERED}"),
    ("beside", f"{ORDER}: program 1 reads y_ptr[0], which program 0 writes{UNORDERED}"),
    ("unlocked", ORDER),
    ("two_locks", f"{ORDER}: program 1 reads y_ptr[0], which program 0 writes{UNORDERED}"),
    ("relaxed", f"{ORDER}: program 15 reads y_ptr[1], which program 0 writes{UNORDERED}"),
    ("counted_early", f"{ORDER}: program 15 reads y_ptr[1], which program 0 writes{UNORDERED}"),
    ("checked", ORDER),
    ("in_one_program", f"{ORDER}: program 1 reads y_ptr[0], which program 0 writes{UNORDERED}"),
    ("overwritten", ORDER),
]
RIGHT = ["released", "rewritten", "accumulated", "stolen", "overlapping", "own_elements"]


def built(
    name: str, folder: Path, shape: Mapping[str, int] | None = None
) -> ElfArtifact | BuildFailure:
    problem = make_problem(load_kernel(name), shape or {})
    target = load_board("emulated").info.target
    store = ArtifactStore(folder / "builds")
    request = BuildRequest(problem.spec.load_name, problem.shape, problem.dtype, target, store)
    return KernelBuilder(request).build(problem.default_config)


@pytest.mark.parametrize(("name", "reason"), in_turn(RACES, turns=4))
def test_a_race_is_named(name, reason, folder):
    failure = built(f"{FILE}:{name}_kernel", folder)
    assert isinstance(failure, BuildFailure)
    assert failure.status == "wrong"
    assert failure.reason.endswith(reason)


@pytest.mark.parametrize("name", in_turn(RIGHT, turns=3))
def test_what_atomic_operations_order_is_built(name, folder):
    artifact = built(f"{FILE}:{name}_kernel", folder)
    assert isinstance(artifact, ElfArtifact), artifact.reason
    (kept,) = artifact.elf_path.parent.glob("races-*.txt")
    assert kept.read_text() == ""


def test_a_file_may_say_that_its_kernel_is_ordered(tmp_path):
    path = tmp_path / "ordered.py"
    path.write_text(f"{FILE.read_text()}\nordered = True\n")
    assert isinstance(built(f"{path}:beside_kernel", tmp_path), ElfArtifact)


@pytest.mark.parametrize("name", ["vector_add", f"{FILE}:updated_kernel"])
def test_only_kernels_whose_programs_may_read_what_others_write_are_watched(name, folder):
    artifact = built(name, folder)
    assert isinstance(artifact, ElfArtifact)
    assert artifact.provenance["may_race"] is False
    assert not list(artifact.elf_path.parent.glob("races-*.txt"))


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(RAGGED))
def test_shipped_kernels_are_right_in_the_build_that_is_watched(name, folder, monkeypatch):
    monkeypatch.setattr(kernel_builder, "may_race", lambda *_: True)
    endings = []

    def run(*arguments, **options):
        endings.append(run_bounded(*arguments, **options))
        return endings[-1]

    monkeypatch.setattr(race_check, "run_bounded", run)
    assert isinstance(built(name, folder, RAGGED[name]), ElfArtifact)
    assert [ending.returncode for ending in endings] == [0]


def test_a_watched_build_needs_no_front_end(monkeypatch):
    function = load_kernel(f"{FILE}:beside_kernel").kernel
    signature = dict.fromkeys(("x_ptr", "y_ptr"), "*fp32") | {"state_ptr": "*i32"}
    watched = partial(
        compile_kernel, function, signature, {"BLOCK": 64}, host_target(), watches_accesses=True
    )
    first = watched()
    monkeypatch.setattr("triton_rvv.pipeline.make_ttir", None)
    assert watched(parsed=parse_module(first.ttir)).object == first.object

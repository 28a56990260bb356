"""Kernels that are right in the order of their programs alone get no time, unless they say so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cheats import skip_if_starved
from pairs import in_turn

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem

pytestmark = pytest.mark.timeout(120)

FILE = Path(__file__).parent / "written_for_one_core.py"
LIMIT_S = 20.0
SHORT_S = 1.5
ORDER = "the result depends on the order of programs"
UNORDERED = "which program 0 writes, and no atomic operation orders the two"
KERNELS = [
    ("carry", "wrong", ORDER),
    ("counted", "wrong", UNORDERED),
    ("waiting", "timeout", "with its programs in another order"),
    ("lucky", "wrong", "y_ptr[0] is inf and should be"),
    ("core", "wrong", ORDER),
    ("clocked", "correct", ""),
    ("atomic", "correct", ""),
    ("in_place", "correct", ""),
    ("same", "correct", ""),
    ("stepping", "wrong", ORDER),
    ("arriving", "correct", ""),
    # Of kinds that stand above.
    ("lost", "wrong", UNORDERED),
    ("last", "wrong", ORDER),
    ("overwritten", "wrong", ORDER),
    ("locked", "correct", ""),
]
NOTE = "the kernel's file says ordered = True"


@pytest.fixture
def built(board, folder):
    """Builds a kernel as the tuner does."""

    def build(name: str):
        problem = make_problem(load_kernel(name), {})
        store = ArtifactStore(folder / "builds")
        request = BuildRequest(
            problem.spec.load_name, problem.shape, problem.dtype, board.info.target, store
        )
        return KernelBuilder(request).build(problem.default_config)

    return build


def check(board, built, status, reason, limit_s=LIMIT_S):
    if isinstance(built, BuildFailure):  # the races are found before any board runs it
        assert (built.status, reason in built.reason) == (status, True), built.reason
        return
    measurement = board.measure(built, 3, limit_s)
    skip_if_starved(measurement)
    assert measurement.status == status, measurement.reason
    assert reason in measurement.reason


@pytest.mark.parametrize(
    ("board", "name", "status", "reason"),
    in_turn(["emulated", "host"], KERNELS, turns=11),
    indirect=["board"],
)
def test_here(board, built, name, status, reason):
    limit_s = SHORT_S if status == "timeout" else LIMIT_S
    check(board, built(f"{FILE}:{name}_kernel"), status, reason, limit_s)


@pytest.mark.long
@pytest.mark.parametrize("board", ["over_ssh"], indirect=True)
@pytest.mark.parametrize(("name", "status", "reason"), KERNELS)
def test_over_ssh(board, built, name, status, reason):
    limit_s = SHORT_S if status == "timeout" else LIMIT_S
    check(board, built(f"{FILE}:{name}_kernel"), status, reason, limit_s)


def test_a_file_may_say_that_its_kernel_is_ordered(board, built, tmp_path):
    path = tmp_path / "steps.py"
    text = FILE.read_text()
    path.write_text(text + "\nordered = True\n")
    unordered, ordered = load_kernel(f"{FILE}:same_kernel"), load_kernel(f"{path}:same_kernel")
    assert (unordered.ordered, ordered.ordered) == (False, True)
    assert ordered.source_digest == f"{unordered.source_digest}-ordered"
    path.write_text(text + "\ncarry_ordered = True\n")
    artifact = built(f"{path}:carry_kernel")
    check(board, artifact, "correct", "")
    check(board, replace(artifact, ordered=False), "wrong", ORDER)
    path.write_text(text + "\ncarry_ordered = 1\n")
    with pytest.raises(UserError, match="carry_ordered is True or False, not 1"):
        load_kernel(f"{path}:carry_kernel")

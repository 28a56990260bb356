"""What a kernel writes and no reference names is compared too, and inputs stay what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from kernels.own.accesses import accesses_of
from kernels.own.kernel_file import read_kernel_file
from kernels.own.launch import Launch
from kernels.registry import load_kernel, make_problem

pytestmark = pytest.mark.timeout(240)

FILE = Path(__file__).parent / "written_with_more_outputs.py"
UPDATES = FILE.parent / "written_with_updates.py"
LIMIT_S = 20.0
WAYS = [
    (0, "correct", ""),
    (1, "wrong", "lse_ptr[0] is inf and should be"),
    (2, "wrong", "lse_ptr["),
    (3, "wrong", "count_ptr[0] is 2147483647 and should be"),
    (4, "wrong", "x_ptr[0] is"),
]
NOTE = (
    "reference does not name count_ptr, lse_ptr, which the kernel writes: they are compared with "
    "what the default configuration writes; give None for them in reference to leave them unchecked"
)
UPDATE_NOTES = (
    "reference does not name res_ptr, which the kernel writes: it is compared with what the "
    "default configuration writes; give None for it in reference to leave it unchecked",
    "reference does not name sum_ptr, which the kernel changes: it is not checked; give in "
    "reference what outputs should be, and None for scratch memory",
)


@pytest.fixture(scope="module")
def measured_of(board, folder):
    """Builds configurations of a file, which share their arguments, and measures them."""
    store = ArtifactStore(folder / "builds")

    def of(path):
        problem = make_problem(load_kernel(str(path)), {})
        name, target = problem.spec.load_name, board.info.target
        builder = KernelBuilder(BuildRequest(name, problem.shape, problem.dtype, target, store))
        return lambda way: board.measure(
            builder.build(Config({"WAY": way, "BLOCK": 128})), 3, LIMIT_S
        )

    return of


@pytest.fixture(scope="module")
def measured(measured_of):
    return measured_of(FILE)


@pytest.mark.parametrize(("way", "status", "reason"), WAYS)
def test_on_the_emulated_board(measured, way, status, reason):
    measurement = measured(way)
    assert measurement.status == status, measurement.reason
    assert reason in measurement.reason


@pytest.mark.long
@pytest.mark.parametrize("board", ["host", "over_ssh"], indirect=True)
@pytest.mark.parametrize(("way", "status", "reason"), WAYS)
def test_on_other_boards(measured, way, status, reason):
    measurement = measured(way)
    assert measurement.status == status, measurement.reason
    assert reason in measurement.reason


@pytest.mark.parametrize("board", ["host"], indirect=True)
def test_what_is_updated_in_place_is_compared_and_scratch_memory_is_not(measured_of):
    measured = measured_of(UPDATES)
    assert [measured(way).status for way in range(3)] == ["correct", "wrong", "correct"]
    assert measured(1).reason.startswith("res_ptr[0] is ")


@pytest.mark.parametrize("board", ["host"], indirect=True)
def test_what_the_reference_updates_in_its_copy_is_expected(measured_of, tmp_path):
    text = UPDATES.read_text().replace("total = x_ptr + res_ptr", "total = res_ptr.add_(x_ptr)")
    (right := tmp_path / "right.py").write_text(text)
    assert measured_of(right)(0).status == "correct"
    spec = load_kernel(str(right))
    assert spec.check(make_problem(spec, {})) == UPDATE_NOTES[1:]
    # Of what the kernel only reads, the reference may make what it likes.
    other = tmp_path / "other.py"
    scratch = text.replace('    return {"y_ptr"', '    x_ptr += 1\n    return {"y_ptr"')
    other.write_text(scratch.replace("range(3)]", "(1, 0)]"))
    measured = measured_of(other)
    assert measured(0).status == "correct"
    assert measured(1).reason.startswith("res_ptr[0] is ")


@pytest.mark.parametrize(("path", "notes"), [(FILE, (NOTE,)), (UPDATES, UPDATE_NOTES)])
def test_the_user_is_told(path, notes):
    spec = load_kernel(str(path))
    assert spec.check(make_problem(spec, {})) == notes


def test_a_reference_may_leave_outputs_unchecked(tmp_path):
    path = tmp_path / "softmax.py"
    left_out = '"lse_ptr": None, "count_ptr": None}'
    path.write_text(FILE.read_text().replace("softmax(1)}", f"softmax(1), {left_out}"))
    spec = load_kernel(str(path))
    problem = make_problem(spec, {})
    assert spec.check(problem) == ()
    outputs = [a.name for a in problem.arguments(problem.default_config) if a.expected is not None]
    assert outputs == ["y_ptr"]


def test_what_the_ir_says_of_arrays():
    launch = Launch(
        read_kernel_file(FILE), {"M": 2, "N": 3}, "fp32", Config({"WAY": 0, "BLOCK": 4})
    )
    found = accesses_of(launch)
    assert found.constant == {"x_ptr"}
    assert found.only_stored == {"y_ptr", "lse_ptr", "count_ptr"}
    on_its_input = Launch(launch.file, launch.shape, "fp32", Config({"WAY": 4, "BLOCK": 4}))
    assert accesses_of(on_its_input).constant == frozenset()


def test_a_reference_may_name_integers_alone(tmp_path):
    path = tmp_path / "softmax.py"
    counts = '"count_ptr": (x_ptr > 0).sum(1).int()}'
    path.write_text(FILE.read_text().replace('"y_ptr": x_ptr.double().softmax(1)}', counts))
    problem = make_problem(load_kernel(str(path)), {})
    outputs = [a.name for a in problem.arguments(problem.default_config) if a.expected is not None]
    assert outputs == ["y_ptr", "lse_ptr", "count_ptr"]

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


@pytest.fixture(scope="module")
def measured(board, folder):
    """Builds configurations of the file, which share their arguments, and measures them."""
    problem = make_problem(load_kernel(str(FILE)), {})
    store = ArtifactStore(folder / "builds")
    builder = KernelBuilder(
        BuildRequest(problem.spec.load_name, problem.shape, problem.dtype, board.info.target, store)
    )
    return lambda way: board.measure(builder.build(Config({"WAY": way, "BLOCK": 128})), 3, LIMIT_S)


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


def test_the_user_is_told():
    spec = load_kernel(str(FILE))
    assert spec.check(make_problem(spec, {})) == (NOTE,)


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

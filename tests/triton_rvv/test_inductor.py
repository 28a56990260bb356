"""torch.compile on the host target, in processes of its own: it changes settings of torch."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", minversion="2.13")

PROGRAM = """
import torch
import triton_rvv.inductor
from torch._inductor import config
from torch._inductor.utils import run_and_get_code

triton_rvv.inductor.register()
torch.set_num_threads(2)
torch.manual_seed(0)
{settings}

def rows(x, y):
    return torch.softmax(x * y, dim=1), x.sum(0), x.argmax(1), x.var()

# One graph, since Dynamo takes longer for each than the kernels do. The last output is drawn.
def others(x, y, at, ones):
    points = torch.relu(x * y + 1), x.t() + 2
    indices = x[at] + 1, torch.zeros_like(x).index_add(0, at, x)
    x.mul_(2).add_(y)
    return *points, *indices, x.sum() + 1, torch.nn.functional.dropout(ones, 0.5) * 2

# Returns the compiled function, what it returned, and what it made of copies of the inputs.
def check(function, *inputs, dynamic=False, drawn=0):
    expected = function(*(x.clone() for x in inputs))
    copies = [x.clone() for x in inputs]
    compiled = torch.compile(function, dynamic=dynamic)
    got, sources = run_and_get_code(compiled, *copies)
    assert any("async_compile.triton" in source for source in sources), "no Triton kernel"
    assert not any("cpp_pybinding" in source for source in sources), "a kernel in C++"
    same = len(expected) - drawn
    torch.testing.assert_close(got[:same], expected[:same], atol=2e-5, rtol=1e-4)
    return compiled, got, copies

x, y = torch.randn(300, 257), torch.randn(257)
{checks}
print("as expected")
"""

CHECKS = """
check(rows, x, y, dynamic=True)
ones = torch.ones(100000)
inputs = x, y, torch.randint(0, 300, (300,)), ones
compiled, (*_, kept), (changed, *_) = check(others, *inputs, drawn=1)
torch.testing.assert_close(changed, x * 2 + y)
assert abs((kept == 4).float().mean() - 0.5) < 0.01 and set(kept.tolist()) == {0.0, 4.0}
try:
    compiled(x, y, torch.full((300,), 300), ones)
except AssertionError as error:
    assert "index out of bounds" in str(error), error
else:
    raise RuntimeError("an index out of bounds was taken")
"""


def run(tmp_path, settings):
    program = PROGRAM.format(settings=settings, checks=CHECKS)
    places = {"TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor"}
    folders = {name: str(tmp_path / folder) for name, folder in places.items()}
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **folders},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


WORKERS = """
config.compile_threads = 2
from torch._inductor.async_compile import AsyncCompile
AsyncCompile.wait_pool_ready()
"""


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(WORKERS, id="in worker processes", marks=pytest.mark.long),
        pytest.param("config.compile_threads = 1", id="here"),
    ],
)
def test_compiled_functions_run_as_triton_kernels_with_right_results(tmp_path, settings):
    done = run(tmp_path, settings)
    assert done.stdout == "as expected\n", done.stderr

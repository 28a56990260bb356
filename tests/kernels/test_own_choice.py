"""Which kernel of a user's file is taken, and which functions of the file belong to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kernel_runs import run_kernel

from foundation.errors import UserError
from kernels.registry import is_kernel_file, load_kernel, make_problem

HEAD = """import torch
import triton
import triton.language as tl

@triton.jit
def gated(x):
    return x * tl.sigmoid(x)
"""
SWIGLU = """
@triton.jit
def swiglu(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n)
    b = tl.load(b_ptr + at, mask=at < n)
    tl.store(out_ptr + at, gated(a) * b, mask=at < n)

def get_swiglu_kernel_autotune_config():
    return [triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})]
"""
SWIGLU_FUNCTIONS = """
def arguments(N=100):
    return {"a_ptr": torch.randn(N), "b_ptr": torch.randn(N), "out_ptr": torch.empty(N), "n": N}

def grid(meta):
    return triton.cdiv(meta["n"], meta["BLOCK"])

def reference(a_ptr, b_ptr):
    return {"out_ptr": torch.nn.functional.silu(a_ptr) * b_ptr}
"""
SILU = """
@triton.autotune([triton.Config({"BLOCK": 16})], key=["n"])
@triton.jit
def silu_forward(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, gated(tl.load(x_ptr + at, mask=at < n)), mask=at < n)

def silu_forward_arguments(N=80):
    return {"x_ptr": torch.randn(N), "out_ptr": torch.empty(N), "n": N}

def silu_forward_grid(meta):
    return triton.cdiv(meta["n"], meta["BLOCK"])

def silu_forward_flops(N):
    return 4 * N
"""


@pytest.fixture
def written(tmp_path: Path):
    def write(text: str, name: str = "activations") -> str:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        return str(path)

    return write


def test_the_only_kernel_that_no_other_calls_is_taken_whatever_its_name(written, tmp_path) -> None:
    path = written(HEAD + SWIGLU + SWIGLU_FUNCTIONS)
    spec = load_kernel(path)
    assert (spec.name, spec.load_name) == ("swiglu", path)
    run_kernel(make_problem(spec, {}), {}, tmp_path)


def test_a_name_changes_nothing_where_there_is_one_kernel(written) -> None:
    path = written(HEAD + SWIGLU + SWIGLU_FUNCTIONS)
    spec, named = load_kernel(path), load_kernel(f"{path}:swiglu")
    assert named.source_digest == spec.source_digest
    assert make_problem(named, {}).name == make_problem(spec, {}).name
    assert named.load_name == f"{path}:swiglu"


def test_each_kernel_of_a_file_has_functions_of_its_own(written, tmp_path) -> None:
    """The interpreter, which finds the second one's outputs in a process, runs the one meant."""
    functions = SWIGLU_FUNCTIONS.replace("def ", "def swiglu_")
    path = written(HEAD + SWIGLU + functions + SILU)
    shapes = {}
    for name in ("swiglu", "silu_forward"):
        problem = make_problem(load_kernel(f"{path}:{name}"), {})
        shapes[problem.spec.name] = (*problem.shape.values(), problem.spec.flops is not None)
        run_kernel(problem, {}, tmp_path)
    assert shapes == {"swiglu": (100, False), "silu_forward": (80, True)}


def test_plain_functions_go_with_a_kernel_that_has_none_of_its_own(written) -> None:
    path = written(HEAD + SWIGLU + SWIGLU_FUNCTIONS + SILU)
    assert load_kernel(f"{path}:swiglu").default_shape == {"N": 100}
    assert load_kernel(f"{path}:silu_forward").default_shape == {"N": 80}


def test_the_kernel_called_like_the_file_needs_no_name(written) -> None:
    path = written(
        HEAD + SWIGLU.replace("swiglu", "gate_kernel").replace("get_gate_kernel", "get_gate")
        + SWIGLU_FUNCTIONS + SILU, "gate"
    )  # fmt: skip
    assert load_kernel(path).name == "gate"


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        (
            SWIGLU + SWIGLU.replace("swiglu", "geglu"),
            "",
            r"has 2 kernels, swiglu, geglu: name one of them .* \S+activations\.py:swiglu$",
        ),
        (SWIGLU, ":swigul", r"has no kernel swigul: did you mean swiglu\?$"),
        (SWIGLU, ":torch", "has no kernel torch: choose one of gated, swiglu$"),
        (SWIGLU, ":swiglu", "has no function swiglu_arguments or arguments, which gives the value"),
        (
            SWIGLU + SWIGLU_FUNCTIONS + "def swiglu_arguments():\n    return arguments()\n",
            "",
            "has no function swiglu_grid, which gives the number",
        ),
    ],
)
def test_mistakes(written, text, name, sentence) -> None:
    with pytest.raises(UserError, match=sentence):
        use(written(HEAD + text) + name)


def use(kernel: str) -> None:
    problem = make_problem(load_kernel(kernel), {})
    problem.spec.grid(problem, problem.default_config)


def test_a_file_without_a_kernel(written) -> None:
    with pytest.raises(UserError, match=r"has no kernel: put @triton\.jit above a function"):
        load_kernel(written("def other():\n    pass\n"))


@pytest.mark.parametrize("name", ["two.py:swiglu", "./two.py:swiglu", "/a/two.py:swiglu", "two.py"])
def test_a_path_with_a_name_is_a_kernels_file(name) -> None:
    assert is_kernel_file(name)


def test_a_file_may_import_its_kernel(tmp_path: Path) -> None:
    (tmp_path / "activations_of_mine.py").write_text(HEAD + SWIGLU)
    path = tmp_path / "tuned.py"
    path.write_text(
        "import torch\nimport triton\nfrom activations_of_mine import gated, swiglu\n"
        "from triton.language import sigmoid\n"
        "def get_swiglu_kernel_autotune_config():\n"
        '    return [triton.Config({"BLOCK": 32})]\n' + SWIGLU_FUNCTIONS
    )
    assert load_kernel(str(path)).name == "swiglu"


def test_arguments_get_the_first_configuration_before_one_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "swiglu.py"
    sized = SWIGLU_FUNCTIONS.replace("arguments(N=100):", "arguments(config, N=100):")
    padded = sized.replace("torch.empty(N)", 'torch.empty(N + 0 * config["BLOCK"])')
    path.write_text(HEAD + SWIGLU + padded)
    assert make_problem(load_kernel(str(path)), {}).default_config == {"BLOCK": 32}


def test_torch_keeps_what_it_compiles_in_this_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    path = tmp_path / "swiglu.py"
    path.write_text(HEAD + SWIGLU + SWIGLU_FUNCTIONS)
    load_kernel(str(path))
    assert Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]).is_relative_to(tmp_path / "cache")


@pytest.mark.parametrize(("written", "given"), [("gate_kernel", "gate"), ("gate", "gate_kernel")])
def test_a_name_may_leave_out_or_add_kernel(tmp_path: Path, written: str, given: str) -> None:
    path = tmp_path / "activations.py"
    body = SWIGLU.replace("get_swiglu_kernel", "get_gate_kernel").replace("swiglu", written)
    path.write_text(HEAD + body + SILU + SWIGLU_FUNCTIONS)
    assert load_kernel(f"{path}:{given}").name == "gate"
    with pytest.raises(UserError, match="has no kernel gat: did you mean gate"):
        load_kernel(f"{path}:gat")

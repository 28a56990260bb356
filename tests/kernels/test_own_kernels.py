"""Kernels in a user's own file: what is read from it, how it is checked, and mistakes in it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import triton
from kernel_runs import run_kernel
from own_kernel_files import DECORATED, OPTIONAL, PADDED, PRODUCT, TWICE, WITH_SPEC

from foundation.errors import UserError
from kernels.own.configurations import first_values
from kernels.own.kernel_file import read_kernel_file
from kernels.own.reference_runs import REFERENCE_LIMIT_S
from kernels.registry import load_kernel
from kernels.spec import Problem
from rvv_runner.devices import load_board


def configs_of(problem: Problem) -> list:
    space = problem.space(load_board("emulated").info)
    assert space.default == problem.default_config
    return list(space.valid_configs())


def test_the_interpreter_stands_in_for_a_reference(problem_of, tmp_path):
    problem = problem_of(TWICE)
    assert problem.spec.flops is None
    # For the check and for the timed runs; a builder must not give up before the interpreter.
    assert problem.spec.arguments_limit_s == 2 * REFERENCE_LIMIT_S
    run_kernel(problem, {"PLUS": False}, tmp_path)
    with pytest.raises(AssertionError, match=r"out_ptr\[0\] is "):
        run_kernel(problem, {"PLUS": True}, tmp_path)


def test_bytes_that_the_interpreter_rounds_may_be_their_neighbours(problem_of):
    text = TWICE.replace("2 * x + (1 if PLUS else 0)", "tl.floor(x + 0.5).to(tl.int8)")
    text = text.replace("torch.empty(N)", "torch.empty(N, dtype=torch.int8)")
    made = problem_of(text.replace("torch.randn(N)", "torch.randint(-50, 50, (N,)) + 0.5"))
    _, out, *_ = made.timed_arguments(made.default_config)
    assert out.slack is not None
    assert (out.slack == 1).all()
    exact = problem_of(text.replace("torch.randn(N)", "torch.randint(-50, 50, (N,)).float()"))
    _, out, *_ = exact.timed_arguments(exact.default_config)
    assert out.slack is None


def test_a_file_in_the_way_of_the_documents(problem_of, tmp_path):
    problem = problem_of(PRODUCT, "product", {"M": 13, "N": 17, "K": 9})
    assert len(configs_of(problem)) == 2  # one of three stands there twice
    run_kernel(problem, {}, tmp_path)


@pytest.mark.parametrize(
    "given",
    [
        "torch.nn.Parameter(2 * x_ptr)",  # what it would need for a gradient counts for nothing
        "2 * x_ptr.half()",
    ],
)
def test_references_that_give_other_kinds_of_tensors(problem_of, tmp_path, given):
    reference = f"def reference(x_ptr):\n    return {{'out_ptr': {given}}}\ndef grid"
    problem = problem_of(TWICE.replace("def grid", reference))
    notes = problem.spec.check(problem)
    coarse = "reference gives out_ptr as float16 and the kernel as float32: they are compared as"
    assert [note.startswith(coarse) for note in notes] == [True] * given.endswith("half()")
    run_kernel(problem, {"PLUS": False}, tmp_path)
    with pytest.raises(AssertionError, match=r"out_ptr\[0\] is "):
        run_kernel(problem, {"PLUS": True}, tmp_path)


def test_a_reference_that_draws_numbers_draws_the_same_ones(problem_of):
    reference = "def reference(x_ptr):\n    return {'out_ptr': torch.rand(200)}\ndef grid"
    problem = problem_of(TWICE.replace("def grid", reference))
    state = torch.random.get_rng_state()
    one, other = (problem.arguments(problem.default_config)[1] for _ in range(2))
    assert one.expected.tolist() == other.expected.tolist()
    assert one.slack.max() < 1e-5  # numbers of its own are no rounding
    assert torch.equal(torch.random.get_rng_state(), state)


def test_numbers_that_are_taken_for_addresses_are_named(problem_of):
    """As in Triton's tutorial of grouped products, whose operands are tensors of addresses."""
    text = TWICE.replace(
        "x = tl.load(x_ptr + at,",
        "x = tl.load(tl.load(x_ptr).to(tl.pointer_type(tl.float32)) + at,",
    ).replace("torch.randn(N)", "torch.tensor([torch.randn(N).data_ptr()])")
    with pytest.raises(UserError, match="twice_kernel takes numbers for addresses, which lead"):
        use(problem_of(text))


def test_sizes_without_a_default_have_to_be_given(problem_of):
    with pytest.raises(UserError, match=r"no default size for N: give --shape N=\.\.\.,K=\.\.\."):
        problem_of(PRODUCT, "product", {"M": 13})


@pytest.mark.parametrize(("size", "blocks"), [(160, [32, 64, 128]), (64, [32, 64])])
def test_a_decorated_kernel(problem_of, tmp_path, size, blocks):
    """Any name will do where there is one such kernel; it adds to what its argument holds."""
    problem = problem_of(DECORATED, "anything", {"N": size})
    assert problem.spec.name == "sum_into"
    assert [config["BLOCK"] for config in configs_of(problem)] == blocks
    for block, even in [(32, True), (64, size == 64)]:
        assert problem.constants({"BLOCK": block}) == {"BLOCK": block, "EVEN": even}
    assert problem.spec.flops(problem) == size
    run_kernel(problem, {"BLOCK": 64}, tmp_path)


def test_arguments_may_follow_the_configuration(problem_of, tmp_path):
    problem = problem_of(PADDED, "padded")
    for block, programs in [(16, 5), (64, 2)]:
        assert problem.spec.grid(problem, {"BLOCK": block}) == (programs, 1, 1)
        run_kernel(problem, {"BLOCK": block}, tmp_path)


def test_a_file_may_say_it_with_a_spec(problem_of, tmp_path):
    """An entry as the project's own kernels have, and a function for the space."""
    problem = problem_of(WITH_SPEC, "twofold")
    assert len(configs_of(problem)) == 3
    run_kernel(problem, {}, tmp_path)


def test_an_optional_pointer_may_be_none(problem_of, tmp_path):
    for bias, passed in (
        ("torch.ones(N)", ["x_ptr", "bias_ptr", "out_ptr", "n"]),
        ("None", ["x_ptr", "out_ptr", "n"]),
    ):
        problem = problem_of(OPTIONAL.replace("GIVEN", bias), "plus_bias")
        arguments = problem.arguments(problem.default_config)
        assert [argument.name for argument in arguments] == passed
        run_kernel(problem, problem.default_config, tmp_path)


def test_a_file_may_import_its_neighbours(problem_of, tmp_path):
    (tmp_path / "lengths_of_mine.py").write_text("LENGTH = 48")
    lazily = "def arguments():\n    from lengths_of_mine import LENGTH as N"
    text = TWICE.replace("def arguments(N=200):", lazily).replace('meta["N"]', 'meta["n"]')
    problem = problem_of("from lengths_of_mine import LENGTH\n" + text)
    (x, *_) = problem.spec.arguments(problem, problem.default_config)
    assert x.value.shape == (48,)


def test_memory_that_nobody_filled_differs_in_the_two_data_sets(problem_of):
    problem = problem_of(PRODUCT, "product", {"M": 4, "N": 4, "K": 4})
    config = problem.default_config
    (a, _, first), (other_a, _, second) = (
        [argument for argument in arguments if argument.is_pointer]
        for arguments in (problem.arguments(config), problem.timed_arguments(config))
    )
    assert (first.value == np.inf).all()
    assert (second.value == -np.inf).all()
    assert (a.value != other_a.value).any()
    assert (first.expected != second.expected).any()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("import torch", "import torhc"), r":1 cannot be imported: ModuleNotFoundError: No mod"),
        (
            ("def grid(", "torch.ones(1, device='cuda')\ndef grid("),
            "cannot be .*: no GPU is used here",
        ),
        (
            ("def grid(meta):", "def grid(meta):\n    triton.runtime.driver.active"),
            "fails in grid: .*drivers.*: no GPU is used here",
        ),
        (
            ("torch.randn(N)", "torch.ones(N, device='cuda')"),
            "fails in arguments: .*: no GPU is us",
        ),
        (("def grid(meta):", "def grid(meta:"), r" cannot be imported: SyntaxError: '\(' was nev"),
        (
            ("@triton.jit\ndef twice_kernel", "def other"),
            "has no kernel: put @triton.jit above a function",
        ),
        (
            ("def arguments(N", "def inputs(N"),
            "has no function arguments, which gives the value.*, or, if the .* capture it and tune",
        ),
        (
            ("import torch", "import sys\n\nimport torch\n\nsys.exit(3)"),
            r":5 cannot be imported: SystemExit: 3: put what runs under .*, or, if .* capture it",
        ),
        (("def arguments(N", "twice_arguments = 1\ndef argument(N"), r"did you mean argument\?"),
        (("def grid(", "def programs("), "has no function grid, which gives the number of pro"),
        (
            ("def get_twice", "def get_thrice"),
            "has no function get_twice_kernel_autotune_config, .*did you mean get_thrice_kernel_au",
        ),
        (('"n": N}', '"m": N}'), "twice_kernel has no parameter m"),
        ((', "n": N}', "}"), "arguments gives no value for n"),
        (("torch.randn(N)", "[1, 2]"), r"x_ptr is neither a tensor nor a number nor None: \["),
        (("N=200):", "N=2.5):"), r"the default of N is not a size: 2\.5"),
        (("torch.randn(N)", "torch.rand(-N)"), r":15 fails in arguments: RuntimeError: Trying to"),
        (('"BLOCK"]), 1', '"BLOCKS"]), 1'), ":18 fails in grid: KeyError: 'BLOCKS'"),
        (('"BLOCK"]), 1', '"BLOCK"]), 0'), r"one to three positive integers, not \(4, 0\)"),
        (('"BLOCK"]), 1', '"BLOCK"]), meta'), r"not \(4, \{'[^\n]{1,200}\}\)$"),
        (('{"BLOCK": 64, "PLUS": True}', '{"BLOCK": 64}'), "name different parameters"),
        (('"PLUS": True}', '"MINUS": True}'), "name different parameters"),
        (('"PLUS"', '"MINUS"'), "has MINUS, which is not a tl.constexpr of twice_kernel"),
        (
            ("return [triton.Config", "return None.x + [triton.Config"),
            "fails in get_twice_kernel_autotu",
        ),
        (
            ("return [triton.Config", "return [{'BLOCK': 64}] + [triton.Config"),
            "get_twice_kernel_autotune_config gives dict where a triton.Config belongs: return a l",
        ),
        (
            ("return [triton.Config", "return 64\n    [triton.Config"),
            "gives int where a triton.Con",
        ),
        (
            ("tl.arange(0, BLOCK)", "tl.arange(0, BLOCKS)"),
            "without a function reference, .* which cannot be run .*BLOCKS",
        ),
        (("tl.store(out_ptr + at, 2 * x + (1 if PLUS else 0), mask=at < n)", "pass"), "changes no"),
        (
            ("def grid", "def reference():\n    return 1\ndef grid"),
            "reference must return a dict",
        ),
        (
            ("def grid", "def reference(x_ptr):\n    return {'out_ptr': x_ptr[1:]}\ndef grid"),
            r"reference gives out_ptr the shape \(199,\), but arguments \(200,\)",
        ),
        (
            ("def grid", "def reference(x_ptr):\n    return {'out': 2 * x_ptr}\ndef grid"),
            r"gives out, but the kernel has no parameter of that name: did you mean out_ptr\?",
        ),
        (
            ("def grid", "def reference(x_ptr):\n    return {'n': 2 * x_ptr}\ndef grid"),
            "gives n, but that is not a tensor: choose one of out_ptr, x_ptr",
        ),
        (
            ("def grid", "def reference(x_ptr):\n    return {'out_ptr': 2.5}\ndef grid"),
            "reference gives out_ptr as float: return a tensor",
        ),
        *(
            (
                ("def grid", f"def reference(x_ptr):\n    return {{'out_ptr': {given}}}\ndef grid"),
                f"reference gives out_ptr as a tensor {kind}: return an ordinary one",
            )
            for given, kind in [
                ("x_ptr + 0j", "of complex numbers"),
                ("x_ptr.to_sparse()", "that is sparse"),
                ("x_ptr.to('meta')", "without contents"),
            ]
        ),
        (
            ("def grid", "def reference(y):\n    return {}\ndef grid"),
            "reference takes y, but there",
        ),
    ],
)
def test_mistakes(problem_of, change, sentence, monkeypatch):
    assert change[0] in TWICE
    # As in a process in which no other test has activated a driver.
    monkeypatch.setattr(triton.runtime.driver, "_active", None)
    monkeypatch.setattr(triton.runtime.driver, "_default", None)
    with pytest.raises(UserError, match=sentence) as caught:
        use(problem_of(TWICE.replace(*change)))
    assert "\n" not in str(caught.value)
    assert "twice.py" in str(caught.value)


def use(problem: Problem) -> None:
    """Ask for all that a build asks for."""
    config = configs_of(problem)[0]
    problem.spec.arguments(problem, config)
    problem.spec.grid(problem, config)
    problem.constants(config)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"there is no file .*none\.py: give the path of a Python"):
        load_kernel(str(tmp_path / "none.py"))


def test_a_file_sees_no_arguments_of_the_command(problem_of, monkeypatch):
    """A program with argparse ended here, with the usage of options that it does not have."""
    monkeypatch.setattr(sys, "argv", ["rvv-tune", "tune", "file.py", "--trials", "4"])
    given = "import sys\n\nimport torch\n\nassert sys.argv == [__file__]\n"
    function = "def arguments(N=200):\n"
    text = TWICE.replace("import torch\n", given)
    use(problem_of(text.replace(function, f"{function}    assert sys.argv == [__file__]\n")))
    assert sys.argv[0] == "rvv-tune"


@pytest.mark.parametrize(
    "name", ["get__scale_autotune_config", "get__scale_kernel_autotune_config"]
)
def test_the_list_is_found_by_the_kernels_whole_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "scale.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n"
        "@triton.jit\ndef _scale(x_ptr, n, BLOCK: tl.constexpr):\n"
        "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(x_ptr + at, tl.load(x_ptr + at, at < n) * 2, at < n)\n\n"
        f"def {name}():\n    return [triton.Config({{'BLOCK': 32}})]\n"
    )
    assert first_values(read_kernel_file(path)) == {"BLOCK": 32}


STATES = """
import torch, triton
import triton.language as tl

@triton.jit
def states_kernel(state_ptr, x_ptr, scale_ptr, PLUS: tl.constexpr):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    state = tl.load(state_ptr + at).to(tl.float32) * 0.5 + tl.load(x_ptr + at).to(tl.float32)
    tl.store(state_ptr + at, state.to(KIND))
    tl.store(scale_ptr + at, tl.load(x_ptr + at).to(tl.float32) + PLUS)

def get_states_kernel_autotune_config():
    return [triton.Config({"PLUS": 0}), triton.Config({"PLUS": 1})]

def arguments():
    x, state = (torch.randn(256).to(TORCH) for _ in range(2))
    return {"state_ptr": state, "x_ptr": x, "scale_ptr": torch.empty(256)}

def grid(meta):
    return (4,)

def reference(state_ptr, x_ptr):
    return {"state_ptr": GIVEN, "scale_ptr": x_ptr.float()}
"""


@pytest.mark.parametrize("is_rounded", [True, False])
@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2"])
def test_states_of_eight_bits_are_checked(problem_of, tmp_path, kind, is_rounded):
    given = "(state_ptr.float() * 0.5 + x_ptr.float())" + ".to(TORCH)" * is_rounded
    text = STATES.replace("GIVEN", given).replace("TORCH", f"torch.{kind}")
    triton_kind = {"float8_e4m3fn": "tl.float8e4nv", "float8_e5m2": "tl.float8e5"}[kind]
    problem = problem_of(text.replace("KIND", triton_kind))
    problem.spec.check(problem)
    run_kernel(problem, {"PLUS": 0}, tmp_path)
    with pytest.raises(AssertionError, match=r"scale_ptr\[0\] is "):
        run_kernel(problem, {"PLUS": 1}, tmp_path)

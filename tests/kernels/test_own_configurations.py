"""What of a file's configurations is left here, and what the user is told of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board
from search_spaces.joint import joint_space
from search_spaces.space import SearchSpace

FILE = """import torch
import triton
import triton.language as tl

WARPS, STAGES = (1, 2, 4, 8, 16), (2, 3)

@triton.autotune(
    configs=CONFIGS,
    key=["n"],
    prune_configs_by={"early_config_prune": PRUNE},
)
@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

def arguments(N=100):
    return {"x_ptr": torch.randn(N), "out_ptr": torch.empty(N), "n": N GIVEN}

def grid(meta):
    return triton.cdiv(meta["n"], meta["BLOCK"])

def reference(x_ptr):
    return {"out_ptr": x_ptr}
"""
BLOCKS = "for b in (16, 32, 64, 128, 256)"


@pytest.fixture
def space_of(tmp_path: Path):
    def make(configs: str, prune: str = "None", given: str = "", n: int = 100) -> SearchSpace:
        path = tmp_path / "copying.py"
        text = FILE.replace("CONFIGS", configs).replace("PRUNE", prune)
        path.write_text(text.replace(" GIVEN", given))
        problem = make_problem(load_kernel(str(path)), {"N": n})
        return problem.space(load_board("emulated").info)

    return make


@pytest.mark.parametrize(
    ("configs", "note"),
    [
        (
            f"[triton.Config({{'BLOCK': b}}, num_warps=w) {BLOCKS} for w in WARPS]",
            "20 of the 25 configurations in triton.autotune differ from others only in num_warps, "
            "which have no effect on this board: 5 are left",
        ),
        (
            "[triton.Config({'BLOCK': b}, num_stages=s, num_warps=w) for b in (16, 32)"
            " for w in WARPS for s in STAGES]",
            "18 of the 20 configurations in triton.autotune differ from others only in num_warps "
            "and num_stages, which have no effect on this board: 2 are left",
        ),
        (
            "[triton.Config({'BLOCK': 16, 'waves_per_eu': w}, num_ctas=w) for w in (1, 2)]"
            " + [triton.Config({'BLOCK': 32})]",
            "1 of the 3 configurations in triton.autotune differ from others only in num_ctas "
            "and waves_per_eu, which have no effect on this board: 2 are left",
        ),
        (
            "[triton.Config({'BLOCK': 16}, num_threads=n) for n in (0, 4)]",
            "1 of the 2 configurations in triton.autotune differ from others only in num_threads, "
            "which have no effect on this board: 1 is left, so there is nothing to tune",
        ),
        (
            "[triton.Config({'BLOCK': 16})] * 2",
            "there is one configuration in triton.autotune, so there is nothing to tune",
        ),
        ("[triton.Config({'BLOCK': b}) for b in (16, 16, 32)]", None),
    ],
)
def test_what_the_user_is_told(space_of, configs, note) -> None:
    assert space_of(configs).notes == (() if note is None else (note,))


def test_a_kernel_without_a_parameter_to_tune_has_one_configuration(space_of) -> None:
    """Its block comes with the arguments."""
    space = space_of("[triton.Config({}, num_warps=w) for w in WARPS]", given=", 'BLOCK': 64")
    assert list(space.valid_configs()) == [{}]
    assert space.default == {}
    (note,) = space.notes
    assert note.endswith("only in num_warps, which have no effect on this board: 1 is left, "
                         "so there is nothing to tune")  # fmt: skip


def test_one_study_for_several_shapes_says_it_once(space_of) -> None:
    spaces = {
        f"N={n}": space_of("[triton.Config({}, num_warps=w) for w in WARPS]", n=n,
                           given=", 'BLOCK': 64")
        for n in (100, 200)
    }  # fmt: skip
    joint = joint_space(spaces)
    assert len(joint.notes) == 1
    assert joint.default == {}


@pytest.mark.parametrize(
    "prune",
    [
        "lambda configs, named_args: [c for c in configs if c.kwargs['BLOCK'] <= named_args['n']]",
        "lambda configs, named_args, **kwargs: "
        "[c for c in configs if c.kwargs['BLOCK'] <= kwargs['n']]",
        "lambda configs, nargs, n, **kwargs: [c for c in configs if c.kwargs['BLOCK'] <= n]",
    ],
)
def test_a_pruning_function_may_take_arguments_by_keyword(space_of, prune) -> None:
    """A file does not say which arguments its callers give by keyword."""
    configs = f"[triton.Config({{'BLOCK': b}}) {BLOCKS}]"
    assert len(list(space_of(configs, prune).valid_configs())) == 3


def test_a_mistake_in_a_pruning_function(space_of) -> None:
    with pytest.raises(UserError, match="fails in prune_configs_by: KeyError: 'm'"):
        space_of("[triton.Config({'BLOCK': 16})]", "lambda configs, args, **more: more['m']")


def test_a_parameter_called_like_an_option_takes_its_value(tmp_path) -> None:
    """As Triton's softmax tutorial has one; what arguments gives counts more."""
    configs = "[triton.Config({'BLOCK': 16}, num_stages=s) for s in (2, 3)]"
    text = FILE.replace("CONFIGS", configs).replace("PRUNE", "None")
    text = text.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, num_stages: tl.constexpr")
    found = []
    for given in ("", ", 'num_stages': 1"):
        path = tmp_path / "copying.py"
        path.write_text(text.replace(" GIVEN", given))
        problem = make_problem(load_kernel(str(path)), {})
        space = problem.space(load_board("emulated").info)
        found += [problem.constants(config) for config in space.valid_configs()]
    assert [(constants["BLOCK"], constants["num_stages"]) for constants in found] == [
        (16, 2), (16, 3), (16, 1)
    ]  # fmt: skip

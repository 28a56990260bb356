"""Kernels of a user's file that get tensor descriptors made by the host, on processors."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_runs import BOARD, HOST, run_kernel
from pairs import in_turn

from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from triton_rvv.targets.target import Target

PRODUCT = Path(__file__).parents[1] / "gpu_runner" / "described.py"

HEAD = """import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor
"""
# Adds 1 to boxes of a part of three-dimensional rows that are padded; the hook clears the counter.
BOXES = (
    HEAD
    + """
def hook(nargs):
    nargs["x"].block_shape = nargs["y"].block_shape = [1, nargs["ROWS"], nargs["COLUMNS"]]
    nargs["count_ptr"].zero_()

@triton.autotune(
    configs=[
        triton.Config({"ROWS": r, "COLUMNS": c}, pre_hook=hook)
        for r, c in ((4, 16), (1, 8), (8, 32))
    ],
    key=[],
)
@triton.jit
def boxes_kernel(x, y, count_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = [tl.program_id(2), tl.program_id(1) * ROWS, tl.program_id(0) * COLUMNS]
    y.store(at, x.load(at) + 1)
    tl.atomic_add(count_ptr, 1)

def arguments(A=3, B=7, C=20, dtype=torch.float32):
    x = torch.randn(A, B, C + 12).to(dtype)
    y = torch.full((A, B, C + 12), 9).to(dtype)
    around = ([A, B, C], list(x.stride()), [1, 1, 8])
    return {
        "x": TensorDescriptor(x, *around, PADDING),
        "y": TensorDescriptor(y, *around),
        "count_ptr": torch.full((1,), 5, dtype=torch.int32),
    }

def grid(meta):
    return triton.cdiv(meta["C"], meta["COLUMNS"]), triton.cdiv(meta["B"], meta["ROWS"]), meta["A"]
"""
)
REFERENCE = """
def reference(x, y, A, B, C, config):
    y[:, :, :C] = x[:, :, :C] + 1
    programs = triton.cdiv(C, config["COLUMNS"]) * triton.cdiv(B, config["ROWS"]) * A
    return {"y": y, "count_ptr": torch.tensor([programs])}
"""


SIZES: tuple[dict[str, int], ...] = (
    {},
    {"M": 1},
    {"M": 33, "N": 8, "K": 8},
    {"M": 64, "N": 64, "K": 64},
)
BLOCKS: tuple[dict[str, int], ...] = ({}, {"BLOCK_M": 16}, {"BLOCK_N": 32})


@pytest.mark.parametrize(
    ("target", "dtype", "shape", "blocks"),
    in_turn((BOARD, HOST), ("fp32", "fp16", "bf16"), SIZES, BLOCKS),
)
def test_a_product_with_blocks_from_a_hook(
    tmp_path: Path, target: Target, dtype: str, shape: dict[str, int], blocks: dict[str, int]
) -> None:
    problem = make_problem(load_kernel(str(PRODUCT)), shape, dtype)
    run_kernel(problem, blocks, tmp_path, target)


@pytest.mark.parametrize(
    ("target", "padding", "shape", "rows", "columns"),
    in_turn(
        (BOARD, HOST),
        ("zero", "nan"),
        ({}, {"A": 1, "B": 1, "C": 4}, {"B": 8, "C": 36}),
        ((4, 16), (1, 8), (8, 32)),
    ),
)
def test_boxes_of_padded_rows(
    tmp_path: Path, target: Target, padding: str, shape: dict[str, int], rows: int, columns: int
) -> None:
    path = tmp_path / "boxes.py"
    path.write_text(BOXES.replace("PADDING", repr(padding)) + REFERENCE)
    problem = make_problem(load_kernel(str(path)), shape, "fp32")
    run_kernel(problem, {"ROWS": rows, "COLUMNS": columns}, tmp_path, target)


def test_without_a_reference_the_interpreter_gets_descriptors_too(tmp_path: Path) -> None:
    path = tmp_path / "boxes.py"
    path.write_text(BOXES.replace("PADDING", repr("zero")))
    problem = make_problem(load_kernel(str(path)), {}, "fp32")
    run_kernel(problem, {}, tmp_path)


def test_what_is_read_beyond_an_edge_is_the_padding(tmp_path: Path) -> None:
    path = tmp_path / "sums.py"
    path.write_text(
        HEAD
        + """
@triton.jit
def sums_kernel(x, y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.program_id(0), tl.sum(x.load([tl.program_id(0) * BLOCK])))

def get_sums_kernel_autotune_config():
    return [triton.Config({"BLOCK": 16})]

def arguments(N=24):
    x = TensorDescriptor.from_tensor(torch.randn(N), [16], padding="nan")
    return {"x": x, "y_ptr": torch.empty(2)}

def grid(meta):
    return 2

def reference(x):
    return {"y_ptr": torch.stack([x[:16].double().sum(), torch.tensor(torch.nan)])}
"""
    )
    run_kernel(make_problem(load_kernel(str(path)), {}), {}, tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("[1, 1, 8])", "[1, 1, 6])"), "fails in arguments: ValueError"),
        (('nargs["ROWS"], nargs', 'nargs["RWS"], nargs'), "fails in pre_hook: KeyError: 'RWS'"),
        (("(y, *around)", "(y.mT, *around)"), "y is not contiguous"),
    ],
)
def test_mistakes(tmp_path: Path, change: tuple[str, str], sentence: str) -> None:
    path = tmp_path / "boxes.py"
    assert change[0] in BOXES
    path.write_text(BOXES.replace("PADDING", repr("zero")).replace(*change))
    with pytest.raises(UserError, match=sentence):
        make(path)


def make(path: Path) -> None:
    problem = make_problem(load_kernel(str(path)), {}, "fp32")
    problem.arguments(problem.default_config)

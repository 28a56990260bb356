"""Kernels by name, and the mistakes that a user can make in naming them."""

from __future__ import annotations

import dataclasses

import pytest

from foundation.errors import UserError
from kernels.registry import kernel_names, load_kernel, make_problem


def test_names():
    assert {"matmul", "softmax", "vector_add"} <= set(kernel_names())
    assert kernel_names() == sorted(kernel_names())


def test_unknown_name_offers_the_nearest():
    with pytest.raises(UserError, match=r"no kernel named vectr_add: did you mean vector_add\?"):
        load_kernel("vectr_add")


def test_a_name_without_its_ending_offers_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sobel.py").touch()
    with pytest.raises(UserError, match=r"named sobel: did you mean the file sobel\.py\?"):
        load_kernel("sobel")


@pytest.mark.parametrize("name", ["registry", "spec", "values", "__init__"])
def test_files_that_are_no_kernels(name):
    with pytest.raises(UserError, match="there is no kernel named"):
        load_kernel(name)


def test_shape_is_the_default_but_for_what_is_given():
    problem = make_problem(load_kernel("matmul"), {"N": 70})
    assert dict(problem.shape) == {"M": 256, "N": 70, "K": 256}
    assert problem.dtype == "fp32"
    assert problem.name == "matmul-M256-N70-K256-fp32"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("f32", "fp32"),
        ("float16", "fp16"),
        ("torch.bfloat16", "bf16"),
        ("int8", "i8"),
        ("uint16", "u16"),
        ("float8_e4m3fn", "fp8e4nv"),
        ("f8e5m2", "fp8e5"),
        ("fp64", "fp64"),
    ],
)
def test_other_names_of_an_element_type(written, name):
    spec = dataclasses.replace(load_kernel("vector_add"), dtypes=(name,))
    assert make_problem(spec, {}, written).dtype == name


@pytest.mark.parametrize(
    ("shape", "dtype", "problem"),
    [
        ({"Q": 4}, None, "matmul has no dimension Q: choose one of K, M, N"),
        ({"M": 0}, None, "the size of M is 0: give it a positive one"),
        ({"M": -3}, None, "the size of M is -3"),
        ({}, "fp63", "matmul does not take fp63: did you mean fp32 or fp16 or bf16?"),
        ({}, "i64", "matmul does not take i64"),
    ],
)
def test_mistakes(shape, dtype, problem):
    with pytest.raises(UserError) as caught:
        make_problem(load_kernel("matmul"), shape, dtype)
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)

"""A plain call gives a kernel exactly the arguments that tuning gave it."""

from __future__ import annotations

import math

import pytest

from foundation.config import Config
from foundation.errors import UserError
from kernels.plain_calls import plain_call, plain_call_names
from kernels.plain_calls.call import config_at
from kernels.registry import kernel_names, load_kernel, make_problem
from kernels.spec import Problem
from launchers.arguments import STORAGE_TYPES

CASES = [(name, dtype) for name in plain_call_names() for dtype in load_kernel(name).dtypes]


def arguments_of(problem):
    return problem.arguments(problem.default_config)


def test_each_is_a_kernel():
    assert set(plain_call_names()) < set(kernel_names())


@pytest.mark.parametrize(("kernel", "dtype"), CASES)
def test_arguments_are_those_of_the_problem(kernel, dtype):
    spec, call = load_kernel(kernel), plain_call(kernel)
    # Sizes without a common factor tell apart what was confused.
    sizes = dict(zip(spec.default_shape, (3, 34, 62, 7), strict=False))
    problem = make_problem(spec, sizes, dtype)
    assert list(call.sizes) == list(spec.default_shape)
    found = {argument.name: argument for argument in arguments_of(problem)}
    arrays = {array.argument: array for array in call.arrays}
    unused = {name: found.pop(name).element_type for name in call.unused}
    assert unused == call.unused
    for room in call.rooms:
        argument = found.pop(room.argument)
        contents = argument.value if argument.value is not None else argument.expected
        assert argument.element_type == room.dtype
        assert not contents.any()
        assert contents.size == room.elements(problem, problem.default_config)
    assert set(arrays) == {name for name, argument in found.items() if argument.is_pointer}
    for name, array in arrays.items():
        contents = found[name].value if found[name].value is not None else found[name].expected
        shape = array.shape(problem.shape)  # leading sizes may be one in the kernel
        assert (math.prod(shape), shape[-1]) == (contents.size, contents.shape[-1])
        assert array.element_type(dtype) == found[name].element_type
        assert contents.dtype == STORAGE_TYPES[array.element_type(dtype)]
        assert (array.access != "in") == (found[name].expected is not None)
        assert (array.access == "out") == (found[name].value is None)
    strides = {array.stride: array.shape(problem.shape)[-1] for array in call.strided}
    given = {**call.integers(problem.shape), **strides}
    numbers = {number.argument: number.dtype for number in call.numbers}
    scalars = [argument for argument in found.values() if not argument.is_pointer]
    assert {s.name: s.type for s in scalars if s.name in numbers} == numbers
    assert {s.name: s.value for s in scalars if s.name not in numbers} == given


def test_a_kernel_without_one_is_named():
    with pytest.raises(UserError, match=r"fused_moe has no plain call.*softmax"):
        plain_call("fused_moe")


@pytest.mark.parametrize(
    ("columns", "config"), [(100, (8, 128)), (512, (8, 512)), (513, (1, 1024))]
)
def test_a_block_covers_its_size_at_every_shape(columns, config):
    problem = Problem(load_kernel("softmax"), {"M": 64, "N": columns}, "fp32")
    tuned = Config({"BLOCK_SIZE_M": 8, "BLOCK_SIZE_N": 512})
    found = config_at(problem, tuned, plain_call("softmax"))
    assert tuple(found.values()) == config

"""Poisoning, restoring and checking of arguments; the same on a CPU's memory as on a GPU's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from foundation.config import Config
from gpu_runner.device_arrays import DamagedMemory, DeviceArguments, Errors, Mismatch
from kernels.on_device import ProblemArguments
from kernels.registry import load_kernel, make_problem
from launchers.arguments import STORAGE_TYPES, Argument

REMEMBERED = Path(__file__).with_name("remembered.py")


def of(*arguments: Argument) -> DeviceArguments:
    return DeviceArguments(arguments, "cpu")


def output(dtype: str, expected: list[float], **more: Any) -> Argument:
    array = np.array(expected).astype(STORAGE_TYPES[dtype])
    return Argument("y", f"*{dtype}", more.pop("value", None), array, **more)


def test_what_is_right_for_the_data_of_the_check_alone_is_wrong_for_the_timed_runs() -> None:
    source = ProblemArguments.of(make_problem(load_kernel(str(REMEMBERED)), {}))
    config = Config({"BLOCK": 1024})
    checked = source.make(config, "cpu")
    first, timed = (of(*made) for made in (checked, source.make_timed(config, "cpu", checked)))
    for arrays in (first, timed):
        arrays.value("y_ptr").fill_(2.0)  # what the kernel knows by heart
    assert first.check() == Errors()
    with pytest.raises(Mismatch, match=r"y_ptr\[0\] is 2 and should be 4"):
        timed.check()


@pytest.mark.parametrize("dtype", sorted(STORAGE_TYPES))
def test_poison_is_wrong_and_the_expected_output_is_right(dtype: str) -> None:
    argument = output(dtype, [0, 1, 0, 1])
    arrays = of(argument)
    arrays.poison()
    with pytest.raises(Mismatch, match=r"y\[0\] is .* and should be 0"):
        arrays.check()
    view = arrays.value("y")
    view.view(torch.uint8).copy_(torch.from_numpy(argument.expected.view(np.uint8)))
    assert arrays.check() == Errors()


def test_poison_is_wrong_even_where_nan_is_right() -> None:
    arrays = of(output("fp32", [np.nan, np.inf, 1.0], rtol=0.1))
    arrays.poison()
    assert arrays.value("y")[0] == 0
    arrays.value("y").copy_(torch.tensor([np.nan, np.inf, 1.0]))
    assert arrays.check() == Errors()
    arrays.value("y")[1] = 1e30
    with pytest.raises(Mismatch, match=r"y\[1\] is 1e\+30 and should be inf; 1 of 3 is wrong"):
        arrays.check()


def test_tolerances_are_those_of_the_argument() -> None:
    arrays = of(output("fp32", [100.0, 0.0], atol=0.5, rtol=0.01))
    arrays.value("y").copy_(torch.tensor([101.4, 0.4]))
    errors = arrays.check()
    assert errors.largest == pytest.approx(1.4, rel=1e-3)
    assert errors.share == pytest.approx(1.4 / 1.5, rel=1e-3)
    arrays.value("y")[1] = 0.48  # a smaller error, and more of what is allowed there
    assert arrays.check().share == pytest.approx(0.96, rel=1e-3)
    arrays.value("y")[0] = 101.6
    with pytest.raises(Mismatch) as wrong:
        arrays.check()
    assert wrong.value.max_abs_error == pytest.approx(1.6, rel=1e-3)


def test_what_a_kernel_adds_to_is_restored_and_scratch_is_mended() -> None:
    start = np.array([5, 6], dtype=np.int32)
    scratch = Argument("x", "*i32", np.array([1, 2], dtype=np.int32))
    arrays = of(output("i32", [7, 8], value=start), scratch)
    arrays.poison()
    assert arrays.value("y").tolist() == [5, 6]
    arrays.value("y").add_(2)
    arrays.value("x").zero_()
    assert arrays.check() == Errors()
    assert arrays.value("x").tolist() == [1, 2]
    arrays.restore()
    assert arrays.value("y").tolist() == [5, 6]


@pytest.mark.parametrize(("place", "where"), [(-1, "before"), (3, "after")])
def test_a_write_beside_an_array_is_noticed(place: int, where: str) -> None:
    arrays = of(output("fp32", [1, 2, 3]))
    view = arrays.value("y")
    view.copy_(torch.tensor([1.0, 2.0, 3.0]))
    beside = torch.as_strided(view, (1,), (1,), view.storage_offset() + place)
    beside.fill_(0.0)
    with pytest.raises(DamagedMemory, match=f"it writes {where} the array y"):
        arrays.check()

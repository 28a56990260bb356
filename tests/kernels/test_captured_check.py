"""What the check of a captured launch is given besides its captured inputs."""

from __future__ import annotations

from typing import Any

import captured_kernels as kernels
import numpy as np
import torch
from captured_launches import add, freedom, launch, memory_of, normal, probe, spec_of

from foundation.config import Config
from kernels.captured.changed_memory import changed_memory
from kernels.captured.deployed import Deployed
from kernels.spec import KernelSpec
from kernels.values import data_set
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.target_names import named_target


def test_a_block_that_leaves_out_a_bias_of_zeros_a_weight_of_ones_or_an_order_is_wrong() -> None:
    n = 500
    deployed = launch(kernels.affine_kernel, 4, {"BLOCK": 128}, n=n)
    memory = memory_of(
        x=normal(n).abs() + 0.1,  # of which logarithms are taken
        weight=torch.ones(n),
        bias=torch.zeros(n),
        at=torch.arange(n).flip(0),
        out=torch.zeros(n),
    )
    found = probe(deployed, memory)
    assert freedom(found, "BLOCK").values == (128, 256)
    assert found.changes.keys() == {"x", "weight", "bias", "at"}
    assert not found.changes["x"].signs
    assert found.changes["bias"].signs
    zeros = [name for name, change in found.changes.items() if change.zero_rows]
    assert zeros == ["weight", "bias"]
    told = changed_memory(memory, found.changes)
    assert torch.equal(told.tensor("at"), torch.arange(n))
    assert told.tensor("bias").count_nonzero() >= n - 1
    assert bool((told.tensor("x") > 0).all())
    spec = spec_of(deployed, memory, found)
    assert array_of(spec, "bias").any()  # of the check
    with data_set(1):
        assert not array_of(spec, "bias").any()  # of the timed runs


def test_tuples_are_taken_apart() -> None:
    """Each part is an argument, as compiled kernels have them; what is None is a constant."""
    numbers = {"sizes[0]": ("i32", 1000), "sizes[1][0]": ("fp32", 0.5), "sizes[1][2]": ("fp32", 3)}
    constants = {"xs[1]": None, "sizes[1][1]": None, "BLOCK": 256}
    deployed = Deployed(kernels.weighted_kernel, numbers, constants, {}, (4, 1, 1))
    x, y = normal(1000), torch.linspace(1, 2, 1000)
    memory = memory_of(**{"xs[0]": x, "xs[2]": y, "out": torch.zeros(1000)})
    found = probe(deployed, memory)
    assert freedom(found, "BLOCK").values == (32, 64, 128, 256, 512, 1024)
    assert found.rule.text("BLOCK") == "cdiv(sizes[0], BLOCK)"
    sizes = "sizes[0] | xs[0].shape[0] | 1000 | xs[2].shape[0] | out.shape[0]"
    assert found.rule.texts() == (f"cdiv({sizes}, BLOCK)", "1", "1")
    spec = spec_of(deployed, memory, found)
    given = spec.arguments(None, Config({"BLOCK": 128}))
    names = ["xs[0]", "xs[2]", "out", "sizes[0]", "sizes[1][0]", "sizes[1][2]"]
    assert [argument.name for argument in given] == names
    first, second, out = (given[number] for number in range(3))
    assert np.allclose(out.expected, 0.5 * first.value + 3 * second.value, rtol=1e-4)
    signature = {argument.name: argument.type for argument in given}
    target = named_target("rvv256")
    compiled = compile_kernel(spec.kernel, signature, constants, target, {"sizes[0]": 1000})
    assert compiled.ttir.count("!tt.ptr<f32>") >= 3


def test_bytes_take_the_ends_of_their_range_but_flags_do_not() -> None:
    """Small ones alone are the same as bytes with a sign and without one."""
    deployed = launch(kernels.add_kernel, 2, {"BLOCK": 64}, n=96)
    small, flags = torch.arange(96) % 50, torch.arange(96) % 2
    out = torch.zeros(96, dtype=torch.uint8)
    memory = memory_of(x=small.to(torch.uint8), y=flags.to(torch.uint8), out=out)
    found = probe(deployed, memory)
    assert found.changes.keys() == {"x"}
    assert changed_memory(memory, found.changes).tensor("x").max() == 255


def test_masks_and_what_is_shared_or_small_stay_in_the_check() -> None:
    deployed, memory = add(n=1000)
    mask = memory_of(x=normal(1000).sign(), y=normal(1000), out=torch.zeros(1000))
    assert probe(deployed, mask).changes.keys() == {"y"}
    x = normal(1000)
    assert probe(deployed, memory_of(x=x, y=normal(1000), out=x)).changes.keys() == {"y"}
    assert probe(deployed, memory).changes.keys() == {"x", "y"}


def test_inputs_stay_where_a_loop_might_never_end_with_others() -> None:
    deployed = launch(kernels.halving_kernel, 4, {"BLOCK": 128}, n=500)
    memory = memory_of(x=normal(500), out=torch.zeros(500))
    assert probe(deployed, memory).changes == {}


def array_of(spec: KernelSpec, name: str) -> Any:
    given = spec.arguments(None, Config({"BLOCK": 128}))
    (one,) = [argument.value for argument in given if argument.name == name]
    return one

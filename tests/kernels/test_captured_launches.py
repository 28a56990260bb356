"""Captured launches: what their outputs should be, and which constexprs may vary."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import captured_kernels as kernels
import numpy as np
import pytest
import torch

from foundation.config import Config
from foundation.errors import UserError
from kernels.captured.block_rule import BlockRule
from kernels.captured.changed_memory import changed_memory
from kernels.captured.deployed import Deployed
from kernels.captured.grid_rule import GridRule, possible_factors
from kernels.captured.memory import Memory, View
from kernels.captured.outputs import CheckedOutputs, Output, checked_outputs
from kernels.captured.probe import Freedom, Probed, probed
from kernels.captured.problem import captured_spec
from kernels.captured.space import captured_space
from kernels.spec import KernelSpec
from kernels.values import data_set
from launchers.arguments import Described
from triton_rvv.launches.contents import memory_ranges
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.host_target import host_target
from triton_rvv.targets.target_names import named_target


def memory_of(**tensors: torch.Tensor) -> Memory:
    """The tensors with the storages that they share."""
    storages: dict[int, torch.Tensor] = {}
    views: dict[str, View] = {}
    keys: dict[int, int] = {}
    for name, tensor in tensors.items():
        key = keys.setdefault(tensor.untyped_storage().data_ptr(), len(keys))
        storages[key] = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
        views[name] = View(
            key, int(tensor.storage_offset()), tuple(tensor.shape), tensor.stride(), tensor.dtype
        )
    return Memory(storages, views)


def launch(kernel: object, grid: int, constants: dict[str, int], **scalars: object) -> Deployed:
    typed = {n: ("i32" if isinstance(v, int) else "fp32", v) for n, v in scalars.items()}
    return Deployed(kernel, typed, constants, {}, (grid, 1, 1))  # type: ignore[arg-type]


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7)).to(dtype)


def probe(deployed: Deployed, memory: Memory, **listed: list[object]) -> Probed:
    return probed(deployed, memory, listed=listed or None, derived=lambda constants: {})  # type: ignore[arg-type]


def freedom(found: Probed, name: str) -> Freedom:
    (one,) = [f for f in found.freedoms if f.name == name]
    return one


def add(n: int = 1000, dtype: torch.dtype = torch.float32) -> tuple[Deployed, Memory]:
    deployed = launch(kernels.add_kernel, 4, {"BLOCK": 256}, n=n)
    x, y = normal(n, dtype=dtype), normal(n, dtype=dtype)
    return deployed, memory_of(x=x, y=y, out=torch.zeros(n, dtype=dtype))


def softmax(dtype: torch.dtype = torch.float32) -> tuple[Deployed, Memory]:
    deployed = launch(
        kernels.softmax_kernel, 8, {"BLOCK": 128}, x_step=100, out_step=120, columns=100
    )
    return deployed, memory_of(
        x=normal(8, 100, dtype=dtype), out=torch.full((8, 120), 3.0, dtype=dtype)
    )


def outputs(deployed: Deployed, memory: Memory) -> CheckedOutputs:
    return checked_outputs(deployed, memory)


def test_an_output_that_is_written_whole_starts_as_poison() -> None:
    found = outputs(*add())
    assert list(found.outputs) == ["out"]
    assert found.outputs["out"].start is None
    assert found.agree(add()[0].run(found.poisoned()))


def test_an_unfinished_output_is_wrong() -> None:
    deployed, memory = add()
    found = outputs(deployed, memory)
    half = launch(kernels.add_kernel, 2, {"BLOCK": 256}, n=1000)
    assert not found.agree(half.run(found.poisoned()))


def test_what_the_kernel_leaves_alone_stays_as_captured() -> None:
    start = outputs(*softmax()).outputs["out"].start
    assert start is not None
    rows = start.view(8, 120)
    assert rows[:, :100].isnan().all()
    assert (rows[:, 100:] == 3.0).all()


def test_a_kernel_in_place_starts_from_the_captured_contents() -> None:
    x = normal(1000)
    deployed = launch(kernels.scale_kernel, 4, {"BLOCK": 256}, n=1000, factor=2.5)
    output = outputs(deployed, memory_of(x=x)).outputs["x"]
    assert output.start is not None
    assert torch.equal(output.start, x)
    assert torch.allclose(output.expected, 2.5 * x)


def test_an_atomic_sum_starts_from_the_captured_contents() -> None:
    x = normal(1000, dtype=torch.bfloat16)
    deployed = launch(kernels.total_kernel, 4, {"BLOCK": 256}, n=1000)
    output = outputs(deployed, memory_of(x=x, out=torch.full((1,), 5.0))).outputs["out"]
    assert output.start is not None
    assert output.start.item() == 5.0
    assert output.expected.item() == pytest.approx(5.0 + x.float().sum().item(), abs=1e-3)


def test_16_bit_floats_are_expected_as_fp32_gives_them() -> None:
    deployed, memory = softmax(torch.bfloat16)
    found = outputs(deployed, memory)
    assert found.in_fp32
    exact = memory.tensor("x").double().softmax(1).to(torch.bfloat16)
    got = found.outputs["out"].expected.view(8, 120)[:, :100]
    assert (got.view(torch.int16) - exact.view(torch.int16)).abs().max() <= 1


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float8_e4m3fn])
def test_8_bit_floats(dtype: torch.dtype) -> None:
    deployed, memory = softmax(dtype)
    found = outputs(deployed, memory)
    assert not found.in_fp32
    assert found.agree(deployed.run(found.poisoned()))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.uint8])
def test_integers_are_exact(dtype: torch.dtype) -> None:
    deployed, memory = add(dtype=dtype)
    found = outputs(deployed, memory)
    assert found.outputs["out"].slack is None
    after = deployed.run(found.poisoned())
    assert found.agree(after)
    after.span("out")[500] += 1
    assert not found.agree(after)


def test_an_output_that_is_an_input_too_is_tuned_on_arrays_of_their_own() -> None:
    x = normal(1000)
    deployed, _ = add()
    assert freedom(probe(deployed, memory_of(x=x, y=normal(1000), out=x)), "BLOCK").varies


@pytest.mark.parametrize("swaps", [False, True])
def test_outputs_that_fill_parts_of_one_tensor_are_tuned(swaps: bool) -> None:
    deployed = launch(kernels.halves_kernel, 4, {"BLOCK": 64}, step=200, columns=100)
    deployed = replace(deployed, grid=(4, 2, 1))
    left, right = torch.zeros(4, 200).chunk(2, dim=1)[:: -1 if swaps else 1]
    memory = memory_of(x=normal(4, 100), left=left, right=right)
    assert freedom(probe(deployed, memory), "BLOCK").varies


def test_an_output_that_follows_from_shared_memory_is_refused() -> None:
    deployed = launch(kernels.running_sum_kernel, 1, {}, n=50)
    x = torch.ones(50)
    with pytest.raises(UserError, match="reads through one of x and out what it wrote through"):
        probe(deployed, memory_of(x=x, out=x))


def test_a_block_that_is_wrong_in_shared_memory_stays() -> None:
    deployed = launch(kernels.neighbour_sums_kernel, 1, {"BLOCK": 64}, n=64)
    x = normal(64)
    assert freedom(probe(deployed, memory_of(x=x, out=x.clone())), "BLOCK").varies
    assert not freedom(probe(deployed, memory_of(x=x, out=x)), "BLOCK").varies


def test_an_output_that_other_outputs_need_starts_from_the_captured_contents() -> None:
    deployed = launch(kernels.gated_kernel, 6, {"BLOCK": 64}, columns=300)
    memory = memory_of(grad=normal(6, 300), a=normal(6, 300), b=2 * normal(6, 300))
    found = outputs(deployed, memory)
    assert found.agree(deployed.run(found.poisoned()))
    assert freedom(probe(deployed, memory), "BLOCK").varies


def test_a_kernel_without_outputs_is_refused() -> None:
    deployed = launch(kernels.nothing_kernel, 1, {}, n=3)
    with pytest.raises(UserError, match="nothing_kernel writes none of its arguments"):
        outputs(deployed, memory_of(x=normal(10)))


def test_a_launch_without_programs_is_refused() -> None:
    deployed, memory = add()
    with pytest.raises(UserError, match=r"no programs .its grid is 0x1x1"):
        probe(replace(deployed, grid=(0, 1, 1)), memory)


def test_a_mode_stays_though_other_modes_do_the_same() -> None:
    deployed = launch(kernels.mode_kernel, 4, {"MODE": 2, "BLOCK": 256}, n=1000)
    found = probe(deployed, memory_of(x=normal(1000), out=torch.zeros(1000)))
    assert freedom(found, "MODE").why == "is only compared, as modes are"
    assert freedom(found, "BLOCK").varies


def test_a_block_that_the_grid_follows_varies() -> None:
    found = probe(*add())
    block = freedom(found, "BLOCK")
    assert block.values == (32, 64, 128, 256, 512, 1024)
    assert block.why == "varies; the grid is cdiv(n, BLOCK)"
    assert found.rule.grid({"BLOCK": 32}) == (32, 1, 1)


def test_a_block_that_must_cover_a_row_does_not_shrink() -> None:
    block = freedom(probe(*softmax()), "BLOCK")
    assert block.values == (128,)
    assert block.why == "other outputs with 64, and larger ones cover no more"


def test_a_block_within_a_row_varies_and_the_grid_stays() -> None:
    deployed = launch(kernels.row_sums_kernel, 6, {"BLOCK": 64}, columns=300)
    found = probe(deployed, memory_of(x=normal(6, 300), out=torch.zeros(6)))
    assert freedom(found, "BLOCK").values == (8, 16, 32, 64, 128, 256, 512)
    assert found.rule.grid({"BLOCK": 8}) == (6, 1, 1)


def test_a_block_that_sizes_scratch_stays() -> None:
    deployed = launch(kernels.partial_sums_kernel, 4, {"BLOCK": 256}, n=1000)
    block = freedom(probe(deployed, memory_of(x=normal(1000), parts=torch.zeros(4))), "BLOCK")
    assert block.values == (256,)
    assert block.why == "other outputs with 128 and with 512"


def test_two_blocks_that_share_an_axis() -> None:
    blocks = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 16}
    deployed = launch(kernels.matmul_kernel, 3 * 2, blocks, M=48, N=64, K=32)
    memory = memory_of(a=normal(48, 32), b=normal(32, 64), c=torch.zeros(48, 64))
    found = probe(deployed, memory)
    assert found.rule.grid({"BLOCK_M": 8, "BLOCK_N": 8}) == (6 * 8, 1, 1)
    assert all(f.varies for f in found.freedoms)


def test_the_grid_of_listed_values_is_found_too() -> None:
    found = probe(*add(), BLOCK=[256, 1024])
    assert freedom(found, "BLOCK").values == (256, 1024)
    assert found.rule.grid({"BLOCK": 1024}) == (1, 1, 1)


def test_a_kernel_that_masks_only_what_it_stores_gets_a_tail() -> None:
    deployed = launch(kernels.stores_masked_kernel, 16, {"BLOCK": 64}, n=1000)
    found = probe(deployed, memory_of(x=normal(1000), out=torch.zeros(1000)))
    assert found.tail > 0
    assert freedom(found, "BLOCK").varies


def test_a_kernel_that_sums_what_lies_behind_is_refused() -> None:
    deployed = launch(kernels.total_of_block_kernel, 1, {"BLOCK": 64})
    with pytest.raises(UserError, match="reaches outside of its tensors"):
        probe(deployed, memory_of(x=normal(40), out=torch.zeros(1)))


def test_a_kernel_may_read_what_lies_in_front_of_a_slice() -> None:
    """As stencils do. Boards get an array that begins there, and the compiled kernel skips it."""
    deployed = launch(kernels.blurred_kernel, 8, {"BLOCK": 128}, n=1000)
    memory = memory_of(x=normal(1010)[5:1005], out=torch.zeros(1000))
    found = probe(deployed, memory)
    assert found.fronts
    assert freedom(found, "BLOCK").varies
    task = SimpleNamespace(
        load_name="", digest="", deployed=deployed, listed=(), memory=lambda data_set: memory
    )
    x, out, _ = captured_spec(task, found).arguments(None, Config({"BLOCK": 128}))
    assert (x.lead, x.lead_bytes, np.shape(x.value)) == (5, 20, (1010,))
    assert (out.lead, len(out.expected)) == (0, 1000)
    signature = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    compiled = [
        compile_kernel(kernels.blurred_kernel, signature, {"BLOCK": 128}, host_target(), leads=one)
        for one in ({}, {"x": 20})
    ]
    assert ["i64 20" in one.lowered for one in compiled] == [False, True]


def test_an_output_keeps_what_lies_in_front_of_it() -> None:
    whole = Output(None, torch.ones(2), torch.full((2,), 0.5)).behind(torch.tensor([7.0]))
    assert whole.expected.tolist() == [7.0, 1.0, 1.0]
    assert whole.slack is not None
    assert whole.slack.tolist() == [0.0, 0.5, 0.5]
    assert whole.start is not None
    assert whole.start[0] == 7.0
    assert whole.start[1:].isnan().all()


def test_a_kernel_that_reads_in_front_of_its_storage_is_refused() -> None:
    memory = memory_of(x=normal(40)[39:], out=torch.zeros(40))
    assert probe(launch(kernels.stepping_kernel, 1, {"BLOCK": 64}, n=40, step=-1), memory).fronts
    far = launch(kernels.stepping_kernel, 1, {"BLOCK": 64}, n=40, step=-2)
    with pytest.raises(UserError, match=r"of x, .* so far in front of an argument is not capt"):
        probe(far, memory)


def test_a_kernel_that_takes_an_expanded_tensor_for_a_whole_one_is_refused() -> None:
    deployed, _ = add(1000)
    one = memory_of(x=torch.ones(1).expand(1000), y=normal(1000), out=torch.zeros(1000))
    with pytest.raises(UserError, match=r"all 1000 elements of x are one .* make it contiguous"):
        probe(deployed, one)


def test_a_slice_keeps_what_lies_behind_it() -> None:
    rows = torch.arange(40.0).view(5, 8)
    ((kept,), _) = memory_ranges({"x": rows[:4]})
    assert kept.elements == 40
    (kept, _), _ = memory_ranges({"x": rows[:4], "y": rows[4:]})
    assert kept.elements == 32
    far = torch.zeros(1 << 16)
    ((kept,), _) = memory_ranges({"x": far[:100]})
    assert kept.elements == 100


def test_a_kernel_may_read_what_lies_behind_a_slice() -> None:
    deployed = launch(kernels.astray_kernel, 1, {"BLOCK": 64}, n=40)
    found = outputs(deployed, memory_of(x=normal(64)[:40], out=torch.zeros(64)[:40]))
    assert found.given.reach("x").tolist() == normal(64).tolist()


def test_sizes_with_the_same_quotient_are_one_possibility_each() -> None:
    rule = GridRule((4, 1, 1))
    found = possible_factors(rule, "B", {"B": 256}, {"n": 1000, "x.shape[0]": 1000, "m": 1024})
    assert [str(factor) for factor in found] == ["cdiv(n, B)", "cdiv(m, B)"]


def test_what_an_autotuner_does_not_list_stays() -> None:
    blocks = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 16}
    deployed = launch(kernels.matmul_kernel, 3 * 2, blocks, M=96, N=128, K=64)
    memory = memory_of(a=normal(96, 64), b=normal(64, 128), c=torch.zeros(96, 128))
    found = probe(deployed, memory, BLOCK_M=[16, 32])
    assert freedom(found, "BLOCK_M").values == (16, 32)
    assert freedom(found, "BLOCK_K").why == "is not listed by the autotuner"
    assert found.rule.grid({"BLOCK_M": 16, "BLOCK_N": 64}) == (6 * 2, 1, 1)


def test_widened_a_list_holds_what_its_blocks_allow_besides() -> None:
    blocks = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 16}
    deployed = launch(kernels.matmul_kernel, 3 * 2, blocks, M=96, N=128, K=64)
    memory = memory_of(a=normal(96, 64), b=normal(64, 128), c=torch.zeros(96, 128))
    listed = {"BLOCK_M": [32, 48]}
    found = probed(deployed, memory, listed=listed, derived=lambda constants: {}, widens=True)
    assert freedom(found, "BLOCK_M").values == (4, 8, 16, 32, 48, 64, 128)
    assert freedom(found, "BLOCK_K").why == "is not listed by the autotuner"
    rows = [{"BLOCK_M": 32, "num_warps": 4}, {"BLOCK_M": 48, "num_warps": 8}]
    space = captured_space(found, {"num_warps": 4}, rows, None, is_wide=True)
    assert [p.name for p in space.parameters] == ["BLOCK_M"]
    assert space.parameters[0].values == freedom(found, "BLOCK_M").values
    assert space.default == {"BLOCK_M": 32}
    narrow = captured_space(found, {"num_warps": 4}, rows, None)
    assert [config["BLOCK_M"] for config in narrow.valid_configs()] == [32, 48]


def test_blocks_of_descriptors_follow_the_constexprs() -> None:
    over = Described((64, 64), (64, 1))
    deployed = replace(
        launch(kernels.described_kernel, 4, {"BM": 16, "BN": 16}, N=64),
        grid=(4, 4, 1),
        descriptors={"x": over},
        blocks=BlockRule({"x": (16, 16)}),
    )
    found = probe(deployed, memory_of(x=normal(64, 64), out=torch.zeros(64, 64)))
    assert found.blocks.blocks({"BM": 32, "BN": 8}) == {"x": (32, 8)}
    assert found.rule.grid({"BM": 32, "BN": 8}) == (2, 8, 1)
    assert all(one.varies for one in found.freedoms)


def test_one_axis_of_each_descriptor_follows_a_parameter() -> None:
    rule = BlockRule({"a": (16, 16), "b": (16, 32)})
    *more, same = rule.following("M", 16)
    assert more[0].sizes == {"a": ("M", 16), "b": ("M", 32)}
    assert len(more) == 3 * 2 - 1
    assert same == rule
    assert [r.sizes["a"] for r in more[0].following("M", 16)] == [("M", 16)]


def test_the_programs_own_function_decides_how_the_grid_follows() -> None:
    deployed, memory = add()
    samples = [({"BLOCK": block}, (4, 1, 1)) for block in (128, 512)]
    found = probe(replace(deployed, grid_samples=samples), memory, BLOCK=[128, 256])
    assert found.rule.grid({"BLOCK": 128}) == (4, 1, 1)
    followed = [({"BLOCK": block}, (-(-1000 // block), 1, 1)) for block in (128, 512)]
    found = probe(replace(deployed, grid_samples=followed), memory, BLOCK=[128, 256])
    assert found.rule.grid({"BLOCK": 128}) == (8, 1, 1)


def test_a_block_that_leaves_out_a_bias_of_zeros_or_a_weight_of_ones_is_wrong() -> None:
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
    assert found.changes.keys() == {"x", "weight", "bias"}
    assert not found.changes["x"].signs
    assert found.changes["bias"].signs
    told = changed_memory(memory, found.changes)
    assert told.tensor("bias").count_nonzero() == n
    assert bool((told.tensor("x") > 0).all())
    task = SimpleNamespace(
        load_name="", digest="", deployed=deployed, listed=(), memory=lambda data_set: memory
    )
    spec = captured_spec(task, found)
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
    task = SimpleNamespace(
        load_name="", digest="", deployed=deployed, listed=(), memory=lambda data_set: memory
    )
    spec = captured_spec(task, found)
    given = spec.arguments(None, Config({"BLOCK": 128}))
    names = ["xs[0]", "xs[2]", "out", "sizes[0]", "sizes[1][0]", "sizes[1][2]"]
    assert [argument.name for argument in given] == names
    first, second, out = (given[number] for number in range(3))
    assert np.allclose(out.expected, 0.5 * first.value + 3 * second.value, rtol=1e-4)
    signature = {argument.name: argument.type for argument in given}
    target = named_target("rvv256")
    compiled = compile_kernel(spec.kernel, signature, constants, target, {"sizes[0]": 1000})
    assert compiled.ttir.count("!tt.ptr<f32>") >= 3


def array_of(spec: KernelSpec, name: str) -> Any:
    given = spec.arguments(None, Config({"BLOCK": 128}))
    (one,) = [argument.value for argument in given if argument.name == name]
    return one


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

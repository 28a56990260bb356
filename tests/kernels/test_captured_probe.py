"""Which constants of captured launches may vary, and how the grid follows them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import captured_kernels as kernels
import pytest
import torch
from captured_launches import add, freedom, launch, matmul, memory_of, normal, probe, softmax

from engine.programs.rewriting import rewriting
from foundation.errors import UserError
from foundation.gpu_limits import GpuLimits
from kernels.captured.block_names import program_axes
from kernels.captured.block_rule import BlockRule
from kernels.captured.freedom_text import freedom_texts
from kernels.captured.grid_rule import Factor, GridRule, divided_sizes, possible_factors
from kernels.captured.probe import probed
from kernels.captured.sampled_grid import SampledGrid
from kernels.captured.space import captured_space
from kernels.captured.task import Task
from launchers.arguments import Described
from triton_rvv.launches.grid_text import followed

GPU = GpuLimits("sm_90", "GPU", 132, 32, 1 << 17, 1 << 16, 255, 1024)


def test_a_block_that_is_wrong_in_shared_memory_stays() -> None:
    deployed = launch(kernels.neighbour_sums_kernel, 1, {"BLOCK": 64}, n=64)
    x = normal(64)
    assert freedom(probe(deployed, memory_of(x=x, out=x.clone())), "BLOCK").varies
    assert not freedom(probe(deployed, memory_of(x=x, out=x)), "BLOCK").varies


def test_a_mode_stays_though_other_modes_do_the_same() -> None:
    deployed = launch(kernels.mode_kernel, 4, {"MODE": 2, "BLOCK": 256}, n=1000)
    found = probe(deployed, memory_of(x=normal(1000), out=torch.zeros(1000)))
    assert freedom(found, "MODE").why == "is only compared, as modes and sizes are"
    assert freedom(found, "BLOCK").varies


def test_the_stride_of_one_element_stays_though_any_is_right() -> None:
    deployed = launch(kernels.batch_kernel, 8, {"STRIDE": 1024, "BLOCK": 128}, n=1024)
    found = probe(deployed, memory_of(x=normal(1, 1024), out=torch.zeros(1, 1024)))
    assert freedom(found, "STRIDE").why == "is the stride of a dimension of one element"
    assert freedom(found, "BLOCK").varies
    # A number that is no stride of the tensors, such as a padding, may be a block.
    deployed = launch(kernels.batch_kernel, 8, {"STRIDE": 2048, "BLOCK": 128}, n=1024)
    found = probe(deployed, memory_of(x=normal(1, 1024), out=torch.zeros(1, 1024)))
    assert freedom(found, "STRIDE").varies


def test_a_kernel_whose_outputs_follow_from_the_order_of_its_programs_is_refused() -> None:
    x, count = normal(512), torch.zeros(1, dtype=torch.int32)
    memory = memory_of(x=x, out=torch.zeros(512), count=count)
    taken = launch(kernels.taken_places_kernel, 8, {"BLOCK": 64}, n=512)
    with pytest.raises(UserError, match="other outputs when its programs run in another order"):
        probe(taken, memory)
    probe(launch(kernels.counted_kernel, 8, {"BLOCK": 64}, n=512), memory)
    compiled = taken.function.device_caches
    assert torch.equal(taken.run(memory).tensor("out"), x), "what was reversed stayed compiled"
    assert taken.function.device_caches is compiled


def test_a_block_that_the_grid_follows_varies() -> None:
    found = probe(*add())
    block = freedom(found, "BLOCK")
    assert block.values == (32, 64, 128, 256, 512, 1024)
    assert block.why == "the grid is cdiv(n, BLOCK)"
    assert found.rule.grid({"BLOCK": 32}) == (32, 1, 1)


def test_a_block_that_one_program_covers_varies_with_its_grid() -> None:
    deployed = launch(kernels.add_kernel, 1, {"BLOCK": 256}, n=100)
    found = probe(deployed, memory_of(x=normal(100), y=normal(100), out=torch.zeros(100)))
    block = freedom(found, "BLOCK")
    assert block.values == (32, 64, 128, 256)
    assert block.why == "the grid is cdiv(n, BLOCK)"
    assert found.rule.grid({"BLOCK": 32}) == (4, 1, 1)


def test_a_block_of_one_element_grows_where_the_grid_follows_it() -> None:
    deployed = launch(kernels.copy_kernel, 40, {"BLOCK": 1}, n=40)
    block = freedom(probe(deployed, memory_of(x=normal(40), out=torch.zeros(40))), "BLOCK")
    assert (block.values, block.why) == ((1, 2, 4, 8), "the grid is cdiv(n, BLOCK)")
    deployed = launch(kernels.turns_kernel, 10, {"BLOCK": 4, "TURNS": 1}, n=40)
    turns = freedom(probe(deployed, memory_of(x=normal(40), out=torch.zeros(40))), "TURNS")
    assert (turns.values, turns.why) == ((1,), "is 1, and the grid does not follow it")


def test_the_smallest_listed_block_shows_how_the_grid_of_one_program_follows() -> None:
    deployed = launch(kernels.add_kernel, 1, {"BLOCK": 256}, n=100)
    memory = memory_of(x=normal(100), y=normal(100), out=torch.zeros(100))
    found = probe(deployed, memory, BLOCK=[16, 128, 256])
    assert found.rule.grid({"BLOCK": 16}) == (7, 1, 1)


def test_a_block_that_covers_all_and_must_does_not_shrink_to_a_quarter() -> None:
    deployed = launch(kernels.total_of_row_kernel, 1, {"BLOCK": 128}, n=60)
    found = probe(deployed, memory_of(x=normal(60), out=torch.zeros(1)))
    assert freedom(found, "BLOCK").values == (64, 128)


def test_axes_are_those_that_a_kernel_asks_for() -> None:
    body = "def kernel(x, axis):\n    {}\n"
    assert program_axes(body.format("tl.program_id(0) + tl.program_id(axis=2)")) == {0, 2}
    assert program_axes(body.format("tl.program_id(axis)")) == {0, 1, 2}
    assert program_axes(body.format("helper(x)")) == {0, 1, 2}


def test_a_grid_that_follows_a_number_of_blocks_for_each_program() -> None:
    deployed = launch(kernels.turns_kernel, 4, {"BLOCK": 64, "TURNS": 4}, n=1000)
    found = probe(deployed, memory_of(x=normal(1000), out=torch.zeros(1000)))
    block, turns = freedom(found, "BLOCK"), freedom(found, "TURNS")
    assert block.values == (8, 16, 32, 64, 128, 256)
    assert turns.values == (1, 2, 4, 8, 16)
    assert block.why == turns.why == "the grid is cdiv(n, BLOCK * TURNS)"
    assert found.rule.grid({"BLOCK": 8, "TURNS": 1}) == (125, 1, 1)
    formula, _, _ = found.rule.texts()
    after = {"n": 1000, "BLOCK": 32, "TURNS": 2}
    assert followed(formula, {"n": 1000, "BLOCK": 64, "TURNS": 4}, after, 4) == 16


def test_a_block_that_must_cover_a_row_does_not_shrink() -> None:
    block = freedom(probe(*softmax()), "BLOCK")
    assert block.values == (128,)
    assert block.why == "outputs differ with 64, and 128 covers all"


def test_a_block_within_a_row_varies_and_the_grid_stays() -> None:
    deployed = launch(kernels.row_sums_kernel, 6, {"BLOCK": 64}, columns=300)
    found = probe(deployed, memory_of(x=normal(6, 300), out=torch.zeros(6)))
    assert freedom(found, "BLOCK").values == (8, 16, 32, 64, 128, 256, 512)
    assert found.rule.grid({"BLOCK": 8}) == (6, 1, 1)


def test_a_block_that_sizes_scratch_stays() -> None:
    deployed = launch(kernels.partial_sums_kernel, 4, {"BLOCK": 256}, n=1000)
    block = freedom(probe(deployed, memory_of(x=normal(1000), parts=torch.zeros(4))), "BLOCK")
    assert block.values == (256,)
    assert block.why == "outputs differ with 128 and with 512"
    task = cast(Task, SimpleNamespace(listed=(), launched_at=""))
    assert rewriting(task, [block]).startswith("let no output depend on BLOCK=256, as one number")


def test_two_blocks_that_share_an_axis() -> None:
    deployed, memory = matmul(48, 64, 32, BLOCK_M=16, BLOCK_N=32, BLOCK_K=16)
    found = probe(deployed, memory)
    assert found.rule.grid({"BLOCK_M": 8, "BLOCK_N": 8}) == (6 * 8, 1, 1)
    assert all(f.varies for f in found.freedoms)
    # Each says the whole, in the kernel's order, however little was known when it was tried.
    whole = "the grid is cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)"
    assert [freedom(found, f"BLOCK_{name}").why for name in "MN"] == [whole, whole]
    listed = probe(deployed, memory, BLOCK_M=[16, 8], BLOCK_N=[32, 16])
    for name in "MN":
        assert freedom(listed, f"BLOCK_{name}").why == f"listed by the autotuner; {whole}"


def test_the_grid_of_listed_values_is_found_too() -> None:
    found = probe(*add(), BLOCK=[256, 1024])
    assert freedom(found, "BLOCK").values == (256, 1024)
    assert found.rule.grid({"BLOCK": 1024}) == (1, 1, 1)


def test_a_grid_of_programs_that_share_the_work_stays() -> None:
    values = {"BLOCK": 32, "STAGES": 3, "TURNS": 4}
    deployed = launch(kernels.shared_out_kernel, 8, values, rows=16, columns=24)
    found = probe(deployed, memory_of(x=normal(16, 24), out=torch.zeros(16, 24)))
    assert not found.rule.factors
    assert freedom(found, "BLOCK").why == "outputs differ with 16, and 32 covers all"
    assert freedom(found, "TURNS").why == "the grid stays"  # though 4 divides 8
    stages = freedom(found, "STAGES")
    assert [text.why for text in freedom_texts([stages])] == [
        "1, 2, 3, 4 on GPUs; a hint that processors ignore"
    ]
    for limits, names in ((None, ["TURNS"]), (GPU, ["STAGES", "TURNS"])):
        space = captured_space(found, {}, (), limits)
        assert [parameter.name for parameter in space.parameters] == names
        assert [*space.default] == names


def test_a_block_that_covers_what_the_data_say_does_not_shrink() -> None:
    """Though shorter ones cover the rows of this launch."""
    deployed = launch(kernels.row_totals_kernel, 4, {"LONGEST": 16}, rows=4)
    offsets = torch.tensor([0, 3, 5, 9, 10], dtype=torch.int32)
    memory = memory_of(offsets=offsets, x=normal(10), out=torch.zeros(4))
    longest = freedom(probe(deployed, memory), "LONGEST")
    assert longest.values == (16,)
    assert longest.why.startswith("smaller ones may not cover what other data need, and ")


def test_a_small_block_tells_sizes_apart_that_give_as_many_large_ones() -> None:
    deployed = launch(kernels.stepping_kernel, 3, {"BLOCK": 64}, step=160, n=136)
    found = probe(deployed, memory_of(x=normal(136 * 160), out=torch.zeros(136)))
    assert freedom(found, "BLOCK").why == "the grid is cdiv(n, BLOCK)"


def test_sizes_with_the_same_quotient_are_one_possibility_each() -> None:
    rule = GridRule((4, 1, 1))
    found = possible_factors(rule, "B", {"B": 256}, {"n": 1000, "x.shape[0]": 1000, "m": 1024})
    assert [str(factor) for factor in found] == ["cdiv(n, B)", "cdiv(m, B)"]


def test_a_size_that_explains_all_programs_comes_before_one_that_leaves_a_factor() -> None:
    rule, deployed = GridRule((8, 32, 1)), {"WIDTH": 16, "BN": 16, "BLOCK_M": 16}
    sizes = {"M": 128, "N": 512}
    for parameter, size in (("WIDTH", "N"), ("BN", "N"), ("BLOCK_M", "M")):
        found = [f for f in possible_factors(rule, parameter, deployed, sizes) if f.axis == 1]
        assert str(found[0]) == f"cdiv({size}, {parameter})"
    rule = GridRule((4, 2, 1), (Factor(0, "BN", 128, "M"), Factor(1, "BN", 512, "N")))
    assert rule.text("BN") == "cdiv(M, BN) * 4 and cdiv(N, BN) * 2"
    rule = GridRule((4, 1, 1), (Factor(0, "BM", 128, "M"), Factor(0, "BN", 512, "N")))
    assert rule.text("BM") == rule.text("BN") == "cdiv(M, BM) * cdiv(N, BN) * 4"


def test_one_program_follows_nothing_on_an_axis_that_the_kernel_does_not_ask_for() -> None:
    # Several may: a function that the kernel calls asks for them.
    for programs, count in ((1, 0), (4, 1)):
        rule = GridRule((programs, 1, 1))
        assert len(possible_factors(rule, "B", {"B": 256}, {"n": 256 * programs}, ())) == count


def test_a_grid_follows_a_size_rather_than_a_stride() -> None:
    sizes = {"stride_x": 1000, "x.shape[0]": 1000}
    (found,) = possible_factors(GridRule((4, 1, 1)), "B", {"B": 256}, sizes)
    assert (str(found), found.others) == ("cdiv(x.shape[0], B)", ("stride_x",))


def test_a_block_that_changes_no_number_of_programs_is_untold() -> None:
    rows, columns = (
        Factor(axis, name, size) for axis, name, size in ((0, "ROWS", 90), (1, "BLOCK", 60))
    )
    rule, deployed = GridRule((1, 1, 3), (rows, columns)), {"ROWS": 4, "BLOCK": 64, "FLAG": 1}
    assert rule.grid(deployed) == (23, 1, 3)
    assert rule.untold(deployed, {"ROWS": 8, "BLOCK": 128, "FLAG": 0}) == ("BLOCK",)
    assert rule.untold(deployed, {"ROWS": 4, "BLOCK": 32}) == ()


def test_what_an_autotuner_does_not_list_stays() -> None:
    deployed, memory = matmul(96, 128, 64, BLOCK_M=32, BLOCK_N=64, BLOCK_K=16)
    found = probe(deployed, memory, BLOCK_M=[16, 32])
    assert freedom(found, "BLOCK_M").values == (16, 32)
    assert freedom(found, "BLOCK_K").why == "is not listed by the autotuner"
    assert found.rule.grid({"BLOCK_M": 16, "BLOCK_N": 64}) == (6 * 2, 1, 1)


def test_widened_a_list_holds_what_its_blocks_allow_besides() -> None:
    deployed, memory = matmul(96, 128, 64, BLOCK_M=32, BLOCK_N=64, BLOCK_K=16)
    listed = {"BLOCK_M": [32, 48]}
    found = probed(deployed, memory, listed=listed, derived=lambda constants: {}, widens=True)
    assert freedom(found, "BLOCK_M").values == (4, 8, 16, 32, 48, 64, 128)
    assert freedom(found, "BLOCK_K").values == (2, 4, 8, 16, 32, 64, 128)  # left to the program
    rows = [{"BLOCK_M": 32, "num_warps": 4}, {"BLOCK_M": 48, "num_warps": 8}]
    space = captured_space(found, {"num_warps": 4}, rows, None, is_wide=True)
    values = {p.name: p.values for p in space.parameters}
    assert values == {
        name: freedom(found, name).values for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    }
    assert space.default == {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 16}
    found = probe(deployed, memory, BLOCK_M=[32, 48])
    narrow = captured_space(found, {"num_warps": 4}, rows, None)
    assert [config["BLOCK_M"] for config in narrow.valid_configs()] == [32, 48]


def test_a_list_of_options_alone_leaves_the_blocks_free() -> None:
    found = probe(*add())
    rows = [{"BLOCK": 256, "num_warps": warps} for warps in (4, 8)]
    assert captured_space(found, {}, rows, None).default == {"BLOCK": 256}
    assert captured_space(found, {}, rows, None).parameters[0].values[0] == 32
    rows = [{"num_warps": 4}, {"num_warps": 8}]
    on_processor = captured_space(found, {"num_warps": 4}, rows, None)
    assert on_processor.default == {"BLOCK": 256}
    assert on_processor.parameters[0].values == freedom(found, "BLOCK").values
    on_gpu = captured_space(found, {"num_warps": 4}, rows, GPU)
    assert on_gpu.default == {"BLOCK": 256, "num_warps": 4}
    assert [p.values for p in on_gpu.parameters] == [freedom(found, "BLOCK").values, (4, 8)]


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
    # A deployed block may cover the size, on an axis that has more programs for something else.
    deployed = replace(deployed, constants={"BLOCK": 1024}, grid=(4, 1, 1), grid_samples=[])
    assert SampledGrid(deployed, memory).rules(GridRule((4, 1, 1)), "BLOCK") == []
    smaller = [({"BLOCK": block}, (4 * -(-1000 // block), 1, 1)) for block in (512, 2048)]
    grid = SampledGrid(replace(deployed, grid_samples=smaller), memory)
    (rule,) = grid.rules(GridRule((4, 1, 1)), "BLOCK")
    assert rule.grid({"BLOCK": 128}) == (4 * 8, 1, 1)


def test_a_grid_follows_no_size_of_an_empty_tensor() -> None:
    views = memory_of(x=normal(256), left_out=torch.zeros(0)).views
    sizes = divided_sizes({}, views)
    assert 0 not in sizes.values()
    rule = GridRule((4, 1, 1))
    found = possible_factors(rule, "BLOCK", {"BLOCK": 64}, sizes, (0, 1, 2), may_cover=True)
    assert any(factor.of == "x.shape[0]" for factor in found)

"""Kernels of torch.compile that were compiled elsewhere, in their winners' configurations."""

from __future__ import annotations

import functools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from triton_rvv.launches.launch import InductorLaunch, passed_names
from triton_rvv.launches.overlay import Overlay
from triton_rvv.launches.rule import Rule
from triton_rvv.launches.source import kernel_digest

LIMIT = 5


def double(x_ptr, size, XBLOCK: tl.constexpr):
    at = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, at < size) + LIMIT, at < size)


def other(x_ptr, size, XBLOCK: tl.constexpr):
    tl.store(x_ptr, size)


def tuner_of(*blocks: int, constants: Any = None, **grid: Any) -> Any:
    # Inductor takes seconds to import, which every process of tests would spend.
    from torch._inductor.runtime.hints import DeviceProperties, HeuristicType
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    device = DeviceProperties.create(torch.device("cpu"))
    signature = {"x_ptr": "*fp32", "size": "i32", "XBLOCK": "constexpr"}
    return CachingAutotuner(
        triton.jit(double),
        {"signature": signature, "device": device, "constants": constants or {}},
        [triton.Config({"XBLOCK": block}, num_warps=4) for block in blocks] or [triton.Config({})],
        save_cache_hook=None,
        mutated_arg_names=["x_ptr"],
        optimize_mem=False,
        heuristic_type=HeuristicType.POINTWISE,
        inductor_meta={"dynamic_scale_rblock": True, "grid_type": "Grid1D", **grid},
    )


def compiled_elsewhere(block: int) -> Any:
    """As it comes from Inductor's cache: without its Python function."""
    tuner: Any = tuner_of(block)
    tuner._reload_kernel = functools.partial(tuner_of, block)
    tuner.compile_results = [SimpleNamespace(config=tuner.configs[0])]
    tuner.configs = None
    tuner.prepare_for_pickle()
    return tuner


@pytest.fixture
def overlay(tmp_path) -> Overlay:
    digest = kernel_digest(triton.jit(double))
    config = {"XBLOCK": 64, "num_warps": 4}
    keys = {"task": "1", "call_key": "2", "family": "3", "call_family": "4"}
    rule = Rule(
        **keys, kernel=digest, name="double", sizes=[9], dimensions=[9], config=config, grid=None,
        is_grid_callable=True, followed=["XBLOCK"], loads={},
    )  # fmt: skip
    return Overlay([rule], tmp_path / "report")


def counted(overlay: Overlay, tuner: Any, launches: int) -> int:
    """How many of these launches count as a winner's. Preparing a kernel launches nothing."""
    for _ in range(launches):
        overlay.launch(InductorLaunch(tuner, ()), lambda: None)
    return sum(use.launches for use in overlay._uses.values())


def test_a_kernel_from_the_cache_is_compiled_again_in_its_winners_configuration(overlay):
    tuner = compiled_elsewhere(512)
    assert overlay.prepared(tuner)
    assert [config.kwargs for config in tuner.configs] == [{"XBLOCK": 64}]
    assert tuner.compile_results == []
    assert tuner.fn.fn is not None
    assert counted(overlay, tuner, launches=0) == 0
    assert counted(overlay, tuner, launches=2) == 2


def test_a_kernel_that_was_compiled_as_its_winner_is_taken(overlay):
    tuner = compiled_elsewhere(64)
    results = tuner.compile_results
    assert overlay.prepared(tuner)
    assert tuner.compile_results is results
    assert counted(overlay, tuner, launches=1) == 1


def test_nothing_is_tried_beside_the_winner(overlay):
    tuner = tuner_of(512, 1024)
    assert overlay.prepared(tuner)
    assert [config.kwargs for config in tuner.configs] == [{"XBLOCK": 64}]
    assert not tuner.inductor_meta["dynamic_scale_rblock"]


def test_what_a_winner_leaves_open_stays_as_listed(overlay):
    tuner = tuner_of(512)
    tuner.configs = [triton.Config({"XBLOCK": 512, "YBLOCK": 2}, num_warps=8, num_stages=1)]
    overlay._rules = [replace(overlay._rules[0], config={"XBLOCK": 64})]
    assert overlay.prepared(tuner)
    (config,) = tuner.configs
    assert config.kwargs == {"XBLOCK": 64, "YBLOCK": 2}
    assert (config.num_warps, config.num_stages) == (8, 1)


def test_the_grid_of_a_programs_own_kernel_is_for_its_own_blocks(overlay):
    numbers = {"grid_type": "FixedGrid", "fixed_grid": ["_grid_0", "_grid_1", "_grid_2"]}
    overlay._rules = [replace(rule, loose=["XBLOCK"]) for rule in overlay._rules]
    listed = [{"config": {"XBLOCK": 32, "num_warps": 4}, "python": ["2", "1", "1"]}]
    known = tuner_of(32, grid_type="PrecomputedGrid", precomputed_grids=listed)
    for tuner in (tuner_of(constants={"XBLOCK": 32}, **numbers), tuner_of(32, **numbers), known):
        assert not overlay.prepared(tuner)
        values = InductorLaunch(tuner, ()).grid_values()
        assert values is not None
        assert [one["XBLOCK"] for one in values] == [32]
    assert InductorLaunch(tuner_of(32), ()).grid_values() is None
    (use,) = overlay._uses.values()
    assert "write XBLOCK=64 at its launch" in use.why
    listed.append({"config": {"XBLOCK": 64, "num_warps": 4}, "python": ["1", "1", "1"]})
    own = tuner_of(constants={"XBLOCK": 64}, **numbers)
    for tuner in (known, own, tuner_of(32, 64, **numbers)):
        assert overlay.prepared(tuner)


def test_another_kernel_is_left_as_it_is(overlay):
    tuner = tuner_of(512)
    tuner.fn = triton.jit(other)
    assert overlay.prepared(tuner_of(512))
    assert not overlay.prepared(tuner)
    assert [config.kwargs for config in tuner.configs] == [{"XBLOCK": 512}]
    assert counted(overlay, tuner, launches=1) == 0


def test_a_kernel_of_the_same_text_that_keeps_its_configuration_does_not_count(overlay):
    reaching, fitting = tuner_of(32, 96), tuner_of(512)
    assert not overlay.prepared(reaching)  # 64 may reach behind what 32 and 96 divide
    assert overlay.prepared(fitting)
    assert counted(overlay, reaching, launches=1) == 0
    assert counted(overlay, fitting, launches=1) == 1


def test_a_size_that_is_a_constant_is_passed_all_the_same():
    tuner = tuner_of(64)
    tuner.triton_meta["signature"]["size"] = "constexpr"
    tuner.triton_meta["constants"]["size"] = 1
    tuner.launchers = [SimpleNamespace(config=tuner.configs[0])]
    launch = InductorLaunch(tuner, (torch.zeros(1), 1))
    assert passed_names(tuner) == ["x_ptr", "size"]
    assert launch.forms("test").find(launch.args, launch.kwargs, launch.grid)[0] is None
    assert launch.bound["size"] == 1


def test_a_programs_own_kernel_is_launched_on_the_numbers_behind_its_parameters():
    names = ["_grid_0", "_grid_1", "_grid_2"]
    tuner = tuner_of(64)
    tuner.inductor_meta |= {
        "grid_type": "FixedGrid", "fixed_grid": names, "extra_launcher_args": names,
    }  # fmt: skip
    tuner.launchers = [SimpleNamespace(config=tuner.configs[0])]
    launch = InductorLaunch(tuner, (torch.zeros(9), 9, 7, 2, 1))
    _, form, traits = launch.forms("test").find(launch.args, launch.kwargs, launch.grid)
    form.remember(traits, "seen")
    assert launch.bound.keys() == {"x_ptr", "size", "XBLOCK"}
    assert launch.programs({**launch.bound, "XBLOCK": 128}) == (7, 2, 1)
    assert not launch.is_grid_callable
    other_grid = (torch.zeros(9), 9, 8, 2, 1)
    assert launch.forms("test").find(other_grid, {}, ())[0] is None

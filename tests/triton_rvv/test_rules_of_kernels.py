"""Each rule by which code is written holds for a kernel: values alone do not show that it does."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from foundation.config import Config
from kernels.registry import load_kernel, make_problem
from triton_rvv import pipeline
from triton_rvv.codegen.llvm import MachineCode
from triton_rvv.lowering import RULES
from triton_rvv.targets.target_names import named_target

_COMMON = "benchmarks/compiler/hand/common_"

# Kernels with configuration and target, and the rules that hold for them.
KERNELS: list[tuple[str, Mapping[str, int], str, str]] = [
    ("matmul", {}, "x60", "count-lanes span-rows read-in-place"),
    ("softmax", {"BLOCK_SIZE_M": 4, "BLOCK_SIZE_N": 1024}, "x60", "keep-row-numbers decide-runs"),
    ("fused_moe", {}, "x60", "list-rows list-lines join-lists lengthen-vectors"),
    ("flash_attention_fwd", {}, "x60", "prefetch-columns"),
    (
        f"{_COMMON}losses.py:quantize_groups",
        {},
        "x60",
        "compare-jointly convert-by-limits convert-rounded",
    ),
    (f"{_COMMON}moves.py:depthwise_conv", {}, "x60", "follow-quotients split-at-edges"),
    (
        "benchmarks/compiler/hand/twelfth_held_out.py:wave_equation_2d",
        {"BLOCK_H": 1, "BLOCK_W": 256},
        "x60",
        "split-at-edges",
    ),
    (
        f"{_COMMON}moves.py:pixel_shuffle",
        {},
        "x60",
        "follow-periods walk-segments load-periods lengthen-tails",
    ),
    (f"{_COMMON}moves.py:pad_reflect", {}, "x60", "walk-segments"),
    (f"{_COMMON}rows.py:rope_half_choice", {}, "x60", "walk-segments"),
    (f"{_COMMON}rows.py:roll_by_row", {}, "x60", "walk-segments"),
    (f"{_COMMON}products.py:conv2d_flat", {}, "x60", "copy-listed-runs pack-transposed"),
    (f"{_COMMON}sums.py:low_rank_residual", {}, "x60", "begin-plainly"),
    (f"{_COMMON}turns.py:batch_norm_apply", {}, "x60", "keep-joined"),
    (f"{_COMMON}signals.py:welford", {}, "x60", "end-plain-columns sum-numbers-once"),
    (f"{_COMMON}signals.py:huber", {}, "x60", "load-early prefetch-next-program"),
    (f"{_COMMON}images.py:gray_of_rgb", {}, "x60", "load-segments"),
    (f"{_COMMON}sums.py:gemv_rows", {}, "x60", "go-down-rows"),
    (f"{_COMMON}signals.py:softmax_backward", {}, "x60", "end-rows"),
    ("benchmarks/compiler/hand/tenth_draw.py:gc_content_windows", {}, "x60", "count-truths"),
    (f"{_COMMON}bytes.py:gain_int16", {}, "x60", "round-shifts clip-shifted"),
    (f"{_COMMON}layers.py:embedding_bag", {}, "x60", "prefetch-next-turn"),
    (f"{_COMMON}signals.py:bias_relu", {}, "x60", "prefetch-stream"),
    (f"{_COMMON}kernels.py:cumsum_rows", {}, "x60", "fill-moved-lanes"),
    (f"{_COMMON}halves.py:insert_zeros", {}, "x60", "load-every-other"),
    (f"{_COMMON}turns.py:heat_rod", {}, "x60", "find-apart"),
    (
        "benchmarks/compiler/hand/sixteenth_held_out2.py:reverse_complement_bytes",
        {},
        "x60",
        "load-reversed",
    ),
    (
        "benchmarks/compiler/hand/eighteenth_held_out.py:iq4_nl_lookup_dot",
        {},
        "x60",
        "keep-tables",
    ),
    (f"{_COMMON}kernels.py:histogram", {}, "x60", "update-plainly"),
    (f"{_COMMON}kernels.py:transpose", {}, "host", "transpose-squares"),
]


def _counts(kernel: str, blocks: Mapping[str, int], target: str) -> dict[str, int]:
    """How often each pass and rule held for a kernel at its default shape."""
    spec = load_kernel(kernel)
    problem = make_problem(spec, {}, spec.dtypes[0])
    config = Config({**problem.default_config, **blocks})
    arguments = problem.arguments(config)
    shapes = problem.blocks(config, arguments)
    compiled = pipeline.compile_kernel(
        spec.kernel,
        {each.name: each.signature_type(shapes) for each in arguments},
        problem.constants(config),
        named_target(target),
        {each.name: each.value for each in arguments if isinstance(each.value, int)},
        disjoint_arguments=True,
    )
    return {each.name: each.count for each in compiled.passes}


@pytest.mark.parametrize(
    ("kernel", "blocks", "target", "names"), KERNELS, ids=[each[0] for each in KERNELS]
)
def test_rules_hold_for_a_kernel(kernel, blocks, target, names, monkeypatch):
    monkeypatch.setattr(pipeline, "generate", lambda llir, target: MachineCode(llir, b""))
    counts = _counts(kernel, blocks, target)
    assert [name for name in names.split() if not counts[name]] == []


def test_every_rule_has_a_kernel():
    assert {name for *_, names in KERNELS for name in names.split()} == {r.name for r in RULES}

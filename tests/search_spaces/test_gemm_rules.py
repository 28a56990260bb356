"""Rules by name: what each lets pass and what it stops."""

from __future__ import annotations

import pytest

from foundation.config import Config
from search_spaces import gemm_rules
from search_spaces.space import Rule

M, N, K = (f"BLOCK_SIZE_{name}" for name in "MNK")
BLOCKS = {
    M: 64,
    N: 64,
    K: 32,
    "GROUP_SIZE_M": 1,
    "SPLIT_K": 1,
}


@pytest.mark.parametrize(
    ("rule", "passes", "stops"),
    [
        (gemm_rules.block_of_an_instruction(M, 16), {M: 16}, {M: 8}),
        (gemm_rules.split_k_divides_k(256), {"SPLIT_K": 8}, {"SPLIT_K": 16}),
        (gemm_rules.split_k_divides_k(100), {K: 4, "SPLIT_K": 5}, {"SPLIT_K": 1}),
        (gemm_rules.split_k_only_where_needed(16, 4096, 4096), {"SPLIT_K": 8}, None),
        (gemm_rules.split_k_only_where_needed(64, 4096, 4096), {}, {"SPLIT_K": 2}),
        (gemm_rules.split_k_only_where_needed(16, 4096, 1024), {}, {"SPLIT_K": 2}),
        (gemm_rules.group_within_rows(256), {"GROUP_SIZE_M": 2}, {"GROUP_SIZE_M": 4}),
        (gemm_rules.group_within_rows(32), {"GROUP_SIZE_M": 1}, {"GROUP_SIZE_M": 2}),
        (gemm_rules.block_k_leaves_room(), {K: 128}, {K: 128, N: 128}),
        (gemm_rules.block_k_leaves_room(), {M: 128, N: 128}, {K: 128, M: 128}),
    ],
)  # fmt: skip
def test_each_rule_stops_what_it_says(
    rule: Rule, passes: dict[str, int], stops: dict[str, int] | None
) -> None:
    assert not rule.forbids(Config({**BLOCKS, **passes}))
    if stops is not None:
        assert rule.forbids(Config({**BLOCKS, **stops}))
    assert rule.reason
    assert not rule.soft

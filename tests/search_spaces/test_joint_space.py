"""The space of one configuration for several shapes: what is valid at each of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from foundation.config import Config
from foundation.errors import UserError
from foundation.shapes import shape_text
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo
from search_spaces.enumeration import take_census
from search_spaces.joint import joint_space
from search_spaces.space import Parameter, SearchSpace

BOARD = BoardInfo("b", "b", "spacemit-x60", 256, cores=8, frequency_hz=1.6e9, l2_bytes=2**19)


def spaces_of(kernel: str, *shapes: dict[str, int]) -> dict[str, SearchSpace]:
    problems = [make_problem(load_kernel(kernel), shape) for shape in shapes]
    return {shape_text(problem.shape): problem.space(BOARD) for problem in problems}


@pytest.mark.parametrize("kernel", ["matmul", "layernorm_fwd"])
def test_it_holds_what_is_valid_at_every_shape(kernel: str) -> None:
    spaces = spaces_of(kernel, {"M": 64, "N": 128}, {"M": 8, "N": 300})
    each = [set(space.valid_configs()) for space in spaces.values()]
    joint = joint_space(spaces)
    assert set(joint.valid_configs()) == each[0] & each[1]
    assert take_census(joint).valid == len(each[0] & each[1])
    assert each[0] != each[1]


def test_a_rule_keeps_its_name_and_says_where_it_holds() -> None:
    spaces = spaces_of("matmul", {"M": 64, "N": 128, "K": 64}, {"M": 8, "N": 128, "K": 64})
    joint = joint_space(spaces)
    assert joint.default is not None
    rule = joint.violation(Config({**joint.default, "BLOCK_SIZE_M": 32, "GROUP_SIZE_M": 1}))
    assert rule is not None
    assert rule.name == "block-size-m-within-m"
    assert rule.reason.endswith("covers all of M = 8 (at M=8,N=128,K=64)")


def test_the_default_is_the_first_that_is_valid_everywhere() -> None:
    large, small = {"M": 4, "N": 1000}, {"M": 4, "N": 300}
    spaces = spaces_of("layernorm_fwd", large, small)
    defaults = [space.default for space in spaces.values()]
    assert defaults == [{"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": n} for n in (1024, 512)]
    assert joint_space(spaces).default == defaults[1]  # rows of 300 have no block of 1024


def test_without_a_shared_default_there_is_none() -> None:
    spaces = {
        "N=1": SearchSpace((Parameter("B", (1, 2)),), default=Config({"B": 1})),
        "N=3": SearchSpace((Parameter("B", (2, 3)),), default=Config({"B": 3})),
    }
    joint = joint_space(spaces)
    assert joint.default is None
    assert list(joint.valid_configs()) == [{"B": 2}]


def test_tables_share_what_both_list() -> None:
    one = SearchSpace.from_configs([{"A": a, "B": b} for a, b in ((1, 1), (2, 1), (2, 4))])
    other = SearchSpace.from_configs([{"B": b, "A": a} for a, b in ((2, 1), (1, 4), (2, 4))])
    other = replace(other, default=Config({"A": 2, "B": 4}))
    joint = joint_space({"N=1": one, "N=2": other})
    assert set(joint.valid_configs()) == {Config({"A": 2, "B": 1}), Config({"A": 2, "B": 4})}
    assert joint.default == {"A": 2, "B": 4}


def test_a_parameter_matters_where_it_does_at_one_shape() -> None:
    def space(least: int) -> SearchSpace:
        stages = Parameter("STAGES", (1, 2), only_if=lambda config: int(config["B"]) >= least)
        return SearchSpace((Parameter("B", (1, 2, 4)), stages))

    joint = joint_space({"N=1": space(4), "N=2": space(2)})
    assert [c["B"] for c in joint.valid_configs() if c["STAGES"] == 2] == [2, 4]


def test_shapes_that_share_no_value_are_a_mistake() -> None:
    spaces = spaces_of("softmax", {"M": 4, "N": 128}, {"M": 4, "N": 500})
    with pytest.raises(
        UserError, match="no value of BLOCK_SIZE_N is valid at every shape"
    ) as raised:
        joint_space(spaces)
    assert "(128 at M=4,N=128; 512 at M=4,N=500)" in str(raised.value)


def test_other_parameters_are_a_mistake() -> None:
    one, other = (SearchSpace((Parameter(name, (1,)),)) for name in "AB")
    with pytest.raises(UserError, match="other parameters at N=2 than at N=1"):
        joint_space({"N=1": one, "N=2": other})

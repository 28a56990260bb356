"""Finds out which constexprs of a captured kernel may vary, by running it with other values.

Each access of these runs is checked before it happens, so a block that is too large for its array
is found, and harms nothing.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from foundation.config import ParameterValue
from foundation.errors import UserError
from kernels.captured.block_names import block_names, compared_names, hint_names, used_names
from kernels.captured.block_rule import BlockRule
from kernels.captured.changed_memory import telling_changes
from kernels.captured.data_sizes import data_covering_names, data_size_names
from kernels.captured.deployed import Deployed
from kernels.captured.freedom import Freedom, Obstacle, hint_freedom, is_block
from kernels.captured.grid_rule import GridRule
from kernels.captured.memory import Memory
from kernels.captured.outputs import CheckedOutputs, checked_outputs
from kernels.captured.program_order import check_program_order
from kernels.captured.sampled_grid import SampledGrid
from kernels.captured.sharing import agrees_in_shared_memory
from kernels.captured.tail import needed_surroundings
from kernels.own.changed_inputs import Change
from triton_rvv.runtime.host_bounds import ended_after

__all__ = ["Probed", "probed"]

_GRID = "{grid}"  # what is known of the grid once every constexpr was tried
_UNCOVERED = "smaller ones may not cover what other data need"
_UNTRIED = "there was no time to try others: a longer --budget tries them"

# A run with other values may take so many seconds, and so many times what the program's took first,
# compiled: a kernel that waits for others may wait for ever for such as there are none of.
_RUN_S, _RUN_TIMES = 5.0, 10.0

# Powers of two up to this many doublings below and above the deployed value.
_DOUBLINGS = 3


@dataclass(frozen=True)
class Probed:
    """What runs of a captured kernel have shown.

    Args:
        rule: how the grid follows the constexprs.
        freedoms: one for each constexpr, in the kernel's order.
        varying: outputs whose last bits differ from run to run.
        in_fp32: whether outputs are checked against sums in fp32 where the program has 16 bits.
        blocks: how the blocks of tensor descriptors follow the constexprs.
        tail: how many elements lie behind each storage that the kernel reads and does not need.
        fronts: whether the kernel reads what its storages hold in front of its tensors.
        changes: how inputs of the check differ from the captured ones; see `telling_changes`.
        unseen: why nothing was found out by runs, in one sentence; "" if they showed the above.
    """

    rule: GridRule
    freedoms: tuple[Freedom, ...]
    varying: tuple[str, ...]
    in_fp32: bool
    blocks: BlockRule = field(default_factory=BlockRule)
    tail: int = 0
    fronts: bool = False
    changes: Mapping[str, Change] = field(default_factory=dict)
    unseen: str = ""


Constants = Mapping[str, Any]


def probed(
    deployed: Deployed,
    given: Memory,
    *,
    listed: Mapping[str, Sequence[ParameterValue]] | None,
    derived: Callable[[Constants], Constants],
    widens: bool = False,
    end_s: float = math.inf,
) -> Probed:
    """Run a captured kernel with other values of its constexprs, on this machine's processor.

    Args:
        deployed: the launch.
        given: its tensors, on the processor.
        listed: the values of each constexpr that the kernel's autotuner lists; None if it leaves
            no choice of any, or there is no autotuner.
        derived: from the values of the constexprs, those that follow from others by
            `@triton.heuristics`.
        widens: whether blocks that the autotuner lists may have other values besides, and those
            that it leaves to the program may vary.
        end_s: when to try no more constexprs, as `time.monotonic` gives it; one is tried always.

    Raises:
        UserError: as `checked_outputs`, if the launch has no programs, if it reaches outside of its
            tensors, or if its outputs are others where its arguments share no memory, or in another
            order of programs.
    """
    if 0 in deployed.grid:
        raise UserError(
            f"{deployed.function.__name__} was launched with no programs (its grid is "
            f"{'x'.join(map(str, deployed.grid))}), so there is nothing to tune"
        )
    began_s = time.monotonic()
    tail, fronts = needed_surroundings(deployed, given)
    limit_s = _RUN_S + _RUN_TIMES * (time.monotonic() - began_s)
    apart = given.apart(with_fronts=fronts)
    checked = checked_outputs(deployed, apart.with_tails(tail) if tail else apart)
    shared = (given.with_tails(tail) if tail else given) if given.shared else None
    if shared and not agrees_in_shared_memory(checked, shared, deployed.run(shared)):
        names = "; ".join(" and ".join(names) for names in given.shared)
        raise UserError(
            f"{deployed.function.__name__} reads through one of {names} what it wrote through "
            "another: arguments that share memory in this way cannot be tuned"
        )
    check_program_order(deployed, checked)
    parted = frozenset(name for names in given.shared for name in names)
    changes, telling = telling_changes(deployed, checked.given, checked, parted)
    probe = _Probe(
        *(deployed, telling, listed, derived, (shared, checked) if shared else None),
        widens=widens,
        end_s=end_s,
        limit_s=limit_s,
    )
    return replace(probe.run(), tail=tail, fronts=fronts, changes=changes)


class _Probe:
    """Finds the rule of the grid and the freedom of each constexpr, one after another."""

    def __init__(
        self,
        deployed: Deployed,
        checked: CheckedOutputs,
        listed: Mapping[str, Sequence[ParameterValue]] | None,
        derived: Callable[[Constants], Constants],
        shared: tuple[Memory, CheckedOutputs] | None,
        *,
        widens: bool,
        end_s: float,
        limit_s: float,
    ) -> None:
        self._widens = widens
        self._limit_s = limit_s
        self._end_s = end_s
        self._has_tried = False
        self._shared = shared
        self._deployed = deployed
        self._checked = checked
        self._poisoned = checked.poisoned()
        self._listed = listed
        self._derived = derived
        self._rule = GridRule(deployed.grid)
        self._loads = deployed.blocks
        self._used = used_names(deployed.function.src)
        self._compared = compared_names(deployed.function.src)
        self._hints = hint_names(deployed.function.src)
        self._blocks = block_names(deployed.function.src)
        self._data_sizes = data_size_names(deployed.function.src)
        self._covering = data_covering_names(deployed.function.src)
        self._grid = SampledGrid(deployed, checked.given)

    def run(self) -> Probed:
        names = [p.name for p in self._deployed.function.params if p.is_constexpr]
        freedoms = {name: self._freedom(name) for name in self._grid.largest_first(names)}
        in_order = sorted(self._rule.factors, key=lambda factor: names.index(factor.parameter))
        self._rule = replace(self._rule, factors=tuple(in_order))
        return Probed(
            self._rule,
            tuple(self._with_grid(freedoms[name]) for name in names),
            self._checked.varying,
            self._checked.in_fp32,
            self._loads,
        )

    def _freedom(self, name: str) -> Freedom:
        value = self._deployed.constants.get(name)
        if self._listed is not None and name in self._listed:
            return self._widened(self._listed_freedom(name, value, self._listed[name]))
        if self._is_hint(name) and type(value) is int:
            return hint_freedom(name, value)
        reason = self._fixed_by(name, value)
        if reason:
            shown = value if isinstance(value, int | float | str) else str(value)
            return Freedom(name, shown, (shown,), reason)
        assert isinstance(value, int)  # others are fixed
        if self._has_tried and time.monotonic() >= self._end_s:
            return Freedom(name, value, (value,), _UNTRIED, "untried")
        self._has_tried = True
        return self._block_freedom(name, value)

    def _is_hint(self, name: str) -> bool:
        """Whether a constexpr that may vary only tells a compiler for GPUs something."""
        is_free = self._listed is None or self._widens
        return (
            name in self._hints and is_free and name not in self._derived(self._deployed.constants)
        )

    def _fixed_by(self, name: str, value: object) -> str:
        """Why a constexpr cannot be a block; "" if it may be one."""
        if name in self._derived(self._deployed.constants):
            return "follows from other values by triton.heuristics"
        if name not in self._used:
            return "is not used by the kernel"
        if self._listed is not None and not self._widens:
            return "is not listed by the autotuner"
        if name in self._compared:
            return "is only compared, as modes and sizes are"
        if isinstance(value, bool) or not isinstance(value, int):
            return "is no integer"
        if not is_block(value) and (value != 1 or name not in self._blocks):
            return "is no power of two above 1, as blocks are"
        if name in self._data_sizes and value in self._extents():
            return "is a size of the data"
        is_stride = name not in self._blocks and value in self._checked.given.strides_of_one
        return "is the stride of a dimension of one element" if is_stride else ""

    def _extents(self) -> set[int]:
        """The sizes and strides of the tensors, and the integers of the launch."""
        extents = {e for v in self._checked.given.views.values() for e in (*v.shape, *v.strides)}
        return extents | {v for _, v in self._deployed.scalars.values() if isinstance(v, int)}

    def _listed_freedom(self, name: str, value: Any, listed: Sequence[ParameterValue]) -> Freedom:
        values = tuple(listed)
        others = [other for other in values if other != value]
        whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
        sampled = self._grid.rules(self._rule, name) if whole else []
        if sampled:
            self._rule = sampled[0]
        has_descriptors = bool(self._loads.sizes)
        if whole and (has_descriptors or not sampled) and all(isinstance(o, int) for o in others):
            smaller_first = sorted(map(int, others), key=lambda v: (v > value, abs(v - value)))
            for other in smaller_first[:2]:
                if self._follow(name, other):
                    if self._may_follow(name, smallest := min(map(int, others))):
                        self._follow(name, smallest)
                    break
        return Freedom(name, value, values, "listed by the autotuner; " + _GRID)

    def _widened(self, listed: Freedom) -> Freedom:
        """What the autotuner lists, and what else a block may be."""
        value = listed.deployed
        if not self._widens or not is_block(value):
            return listed
        assert isinstance(value, int)
        found = self._block_freedom(listed.name, value)
        values = sorted({*listed.values, *found.values}, key=lambda one: (str(type(one)), one))
        return Freedom(listed.name, value, tuple(values), f"listed by the autotuner; {found.why}")

    def _block_freedom(self, name: str, value: int) -> Freedom:
        if value == 1:
            return self._freedom_of_one(name)
        below = name not in self._covering and self._follow(name, value // 2)
        smaller = _UNCOVERED if name in self._covering else f"outputs differ with {value // 2}"
        lowest = max(1, value >> _DOUBLINGS) if below else value
        if below and self._may_follow(name, lowest) and not self._follow(name, lowest):
            lowest = value // 2
        most = self._most(name, value)
        above = value >= most or self._follow(name, 2 * value)
        if not below and not above:
            joined = "; outputs differ" if name in self._covering else " and"
            why = f"{smaller}{joined} with {2 * value}"
            changes = name in self._blocks and self._grid.ways(self._rule, name)
            obstacle: Obstacle = "changes outputs" if changes else ""
            return Freedom(name, value, (value,), why, obstacle)
        doublings = _DOUBLINGS if below else int(name in self._blocks)
        highest = min(most, value << doublings) if above else value
        count = int(math.log2(highest // lowest)) + 1
        values = tuple(lowest << place for place in range(count))
        if count == 1:
            why = f"{smaller}, and {value} covers all"
            return Freedom(name, value, values, why, "covers its axis")
        what = "" if below else f"{smaller}; "
        return Freedom(name, value, values, what + _GRID)

    def _freedom_of_one(self, name: str) -> Freedom:
        """What a block of one element may be besides: more elements, if there are fewer blocks."""
        most = min(self._most(name, 1), 1 << _DOUBLINGS)
        if most == 1:
            return Freedom(name, 1, (1,), "1 covers all")
        if not self._follow(name, 2):
            return Freedom(name, 1, (1,), "outputs differ with 2")
        if not self._rule.text(name):
            why = "is 1, and the grid does not follow it"
            return Freedom(name, 1, (1,), why, "fixed grid")
        most = min(self._most(name, 1), most)
        values = tuple(1 << place for place in range(int(math.log2(most)) + 1))
        return Freedom(name, 1, values, _GRID)

    def _most(self, name: str, value: int) -> int:
        """The smallest power of two that covers all that the block divides."""
        deployed = self._deployed.constants
        sizes = [
            -(-f.size * value // math.prod(int(deployed[one]) for one in f.parameters))
            for f in self._rule.factors
            if name in f.parameters and f.size is not None
        ]
        dims = [size for view in self._checked.given.views.values() for size in view.shape]
        largest = max(sizes or dims or [value])
        return max(value, 1 << (largest - 1).bit_length())

    def _with_grid(self, freedom: Freedom) -> Freedom:
        """A freedom that says how the grid follows it, and whatever else that axis follows."""
        followed = self._rule.text(freedom.name)
        grid = f"the grid is {followed}" if followed else "the grid stays"
        return replace(freedom, why=freedom.why.replace(_GRID, grid))

    def _follow(self, name: str, value: int) -> bool:
        """Whether another value gives the right outputs, with the grid as it is or following it.

        The first way that does is kept.
        """
        constants = {**self._deployed.constants, name: value}
        ways = [self._rule, *self._grid.ways(self._rule, name)]
        rules = self._grid.in_turn(self._grid.rules(self._rule, name) or ways, constants)
        blocks = list(self._loads.following(name, self._deployed.constants[name]))
        for one, rule in itertools.product(blocks, rules):
            if self._is_right(rule, constants, one):
                self._rule, self._loads = rule, one
                return True
        return False

    def _may_follow(self, name: str, value: int) -> bool:
        """Whether the grid may be another at a value than it is by what is known so far."""
        constants = {**self._deployed.constants, name: value}
        stays = self._rule.grid(constants)
        return any(rule.grid(constants) != stays for rule in self._grid.ways(self._rule, name))

    def _is_right(self, rule: GridRule, constants: Constants, blocks: BlockRule) -> bool:
        constants = {**constants, **self._derived(constants)}
        grid = rule.grid(constants)
        other = replace(self._deployed, constants=constants, grid=grid, blocks=blocks)
        try:
            with ended_after(self._limit_s):
                after = other.run(self._poisoned, checks_bounds=True)
            if not self._checked.agree(after):
                return False
            if self._shared is None:
                return True
            shared, checked = self._shared
            return agrees_in_shared_memory(checked, shared, other.run(shared))
        except Exception:  # whatever the compiler or the kernel's own assertions have against it
            return False

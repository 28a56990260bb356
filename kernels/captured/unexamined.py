"""What may vary of a captured kernel that this machine's processor cannot run, or not in time.

The program ran it on a GPU. There, its autotuner's list is tried, or else the compiler's options
alone. The check decides, as for every configuration.
"""

from __future__ import annotations

import torch

from kernels.captured.freedom import Freedom
from kernels.captured.grid_rule import GridRule
from kernels.captured.probe import Probed
from kernels.captured.recorded import RecordedTask
from kernels.captured.sampled_grid import SampledGrid

__all__ = ["unexamined"]


def unexamined(task: RecordedTask, why: str) -> Probed:
    """What may vary, by the autotuner's list and by what the program's grid gave.

    Args:
        task: what was captured.
        why: it was not examined, in one sentence.
    """
    deployed, listed = task.deployed, task.listed_values
    with torch.device("meta"):
        given = task.memory(0)
    grid = SampledGrid(deployed, given)
    rule = GridRule(deployed.grid)
    constants = deployed.constants
    for name in grid.largest_first(listed):
        rule = next(iter(grid.rules(rule, name)), rule)

    def freedom(name: str) -> Freedom:
        value = constants.get(name)
        if name not in listed:
            shown = value if isinstance(value, int | float | str) else str(value)
            return Freedom(name, shown, (shown,), "is not examined")
        followed = rule.text(name)
        text = f"the grid is {followed}" if followed else "the grid stays"
        return Freedom(name, value, tuple(listed[name]), f"listed by the autotuner; {text}")

    names = [p.name for p in deployed.function.params if p.is_constexpr]
    freedoms = tuple(map(freedom, names))
    return Probed(rule, freedoms, (), in_fp32=False, blocks=deployed.blocks, unseen=why)

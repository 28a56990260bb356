"""What tuning found for a task, as a program takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from foundation.config import Config

__all__ = ["Winner"]


@dataclass(frozen=True)
class Winner:
    """What to use for a task.

    Args:
        task: the task's key.
        config: constants and options such as num_warps; what it does not name stays as launched.
        grid: for a program that gives the number of programs as numbers: how they follow, along x,
            y and z, as products of integers, of parameters and of cdiv(a, b), where a is an
            integer, an integer parameter or a size such as x_ptr.shape[0], and b a parameter:
            ("cdiv(n | x_ptr.shape[0], BLOCK) * 4", "1", "1"). What `|` joins is the same for this
            task (`triton_rvv.launches.grid_text.followed`). None where the grid stays as launched.
            A callable grid is called with the winner's values instead.
        deployed_time_s, time_s: of one launch in the configuration of the program, and in this.
        is_estimated: whether the times are a model's.
        device: on which they were measured, as --device names it.
        device_kind: "host", "gpu" or "board".
        study: the name of the study.
        loads: by parameter, what one load of a tensor descriptor takes in this configuration.
        untold: constants with another value than deployed, which changes no number of programs
            here: of sizes at which it does, the check of this task tells nothing.
        tied: whether this is the program's own configuration, since the fastest that was tried
            cannot be told from it, or was not measured in turns with it.
    """

    task: str
    config: Config
    grid: tuple[str, str, str] | None
    deployed_time_s: float
    time_s: float
    is_estimated: bool
    device: str
    device_kind: str
    study: str
    loads: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    untold: tuple[str, ...] = ()
    tied: bool = False

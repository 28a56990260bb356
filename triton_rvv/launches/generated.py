"""torch.compile's kernels, as its runtime holds them: an autotuner with configurations or code.

Code may be there from the start: a process of Inductor's pool made it, or an earlier run of the
program did, and Inductor's cache kept it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "GRID_OF_NUMBERS",
    "configurations_of",
    "grid_follows",
    "grid_values",
    "is_settled",
    "loaded_kernel",
    "settle",
]

GRID_OF_NUMBERS = (
    "torch.compile launches it with a grid that was computed for the program's own constants: "
    "write {} at its launch, for the sizes of its task"
)


def loaded_kernel(tuner: Any) -> Any:
    """The `@triton.jit` function of a `CachingAutotuner`; read again where it came without one."""
    reload = getattr(tuner, "_reload_kernel", None)
    if tuner.fn.fn is None and reload is not None:
        tuner.fn = reload().fn
    return tuner.fn


def configurations_of(tuner: Any) -> list[Any]:
    """The configurations that it may choose, compiled or not."""
    return list(tuner.configs or (result.config for result in tuner.compile_results))


def grid_follows(tuner: Any, config: Any) -> bool:
    """Whether the grid that Inductor launches is right for a configuration.

    Most grids are formulas of it. The grid of a program's own kernel is numbers, which Inductor
    passes at each launch, or knows for each configuration of the program's autotuner.
    """
    from torch._inductor.runtime.triton_heuristics import GridExpr

    if tuner.inductor_meta.get("grid_type") == "FixedGrid":
        return any(config.kwargs.items() <= one.items() for one in grid_values(tuner) or ())
    try:
        GridExpr.from_meta(tuner.inductor_meta, config)
    except AssertionError:
        return False
    return True


def grid_values(tuner: Any) -> list[dict[str, Any]] | None:
    """The constants for which Inductor has grids of numbers; None where a formula gives them."""
    kind = tuner.inductor_meta.get("grid_type")
    if kind == "PrecomputedGrid":
        return [dict(one["config"]) for one in tuner.inductor_meta["precomputed_grids"]]
    if kind != "FixedGrid":
        return None
    names = tuner.fn.arg_names
    constants = tuner.triton_meta.get("constants", {})
    own = {n if isinstance(n, str) else names[n]: v for n, v in constants.items()}
    return [{**own, **one.kwargs} for one in configurations_of(tuner)]


def is_settled(tuner: Any, values: Mapping[str, Any]) -> bool:
    """Whether it holds code in one configuration alone, which has these values."""
    if len(tuner.compile_results) != 1:
        return False
    config = tuner.compile_results[0].config
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    known = {**options, **config.kwargs}
    return all(known.get(name) == value for name, value in values.items())


def settle(tuner: Any, config: Any) -> None:
    """Leave one configuration, which Inductor takes as it is: it neither scales nor refines it."""
    config.found_by_coordesc = True
    tuner.configs, tuner.compile_results, tuner.launchers = [config], [], []
    tuner._cached_launcher = None
    tuner.inductor_meta = {**tuner.inductor_meta, "dynamic_scale_rblock": False}

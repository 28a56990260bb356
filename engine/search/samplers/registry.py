"""Samplers by name: each proposes what to try next, as one of Optuna's samplers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.search.samplers.auto import auto
from engine.search.samplers.bayesian import BayesianSearch
from engine.search.samplers.genetic import genetic
from engine.search.samplers.grid import grid
from engine.search.samplers.optuna_classes import imported_sampler, uses_ranks
from engine.search.samplers.pareto import ParetoSearch
from engine.search.samplers.random import random
from engine.search.samplers.sampler import (
    Sampler,
    SamplerFactory,
    after_spread,
    choosing,
    combining,
)
from engine.search.samplers.spread import spread_evenly
from engine.search.samplers.tpe import TPE
from foundation.errors import UserError, nearest

__all__ = ["SAMPLERS", "sampler_named"]


def _evolution_strategy() -> SamplerFactory:
    # To import it takes half a second of processor time, which all other samplers would pay.
    from engine.search.samplers.evolution_strategy import evolution_strategy

    return choosing(evolution_strategy)


# Samplers that learn from a transfer model; the others only try the fastest of a history.
_WITH_TRANSFER = ("auto", "gp")

# A new sampler is a file, a line here and its name in engine/arguments/options.py: any of Optuna's,
# or a function of the search state. Each search makes its own, since some keep what they computed.
SAMPLERS: Mapping[str, Callable[[], SamplerFactory]] = {
    "auto": auto,
    "gp": lambda: choosing(BayesianSearch()),
    "tpe": lambda: after_spread(TPE),
    "cmaes": _evolution_strategy,
    "ga": lambda: after_spread(combining(genetic)),
    "spread": lambda: choosing(spread_evenly),
    "grid": lambda: choosing(grid),
    "random": lambda: choosing(random),
}

# Samplers for several objectives. All others minimise the time alone.
_WITH_SEVERAL: Mapping[str, Callable[[], SamplerFactory]] = {
    "auto": lambda: choosing(ParetoSearch()),
    "spread": SAMPLERS["spread"],
    "grid": SAMPLERS["grid"],
    "random": SAMPLERS["random"],
}


def sampler_named(name: str, objectives: int = 1) -> Sampler:
    """A new sampler by its name here, or by the dotted name of a class.

    Args:
        name: its name.
        objectives: how many objectives the study has.

    Raises:
        UserError: if there is none, naming the nearest, or if it cannot handle several objectives.
    """
    if objectives > 1:
        if name not in _WITH_SEVERAL:
            raise UserError(
                f"the sampler {name} minimises the time alone: for several objectives choose one "
                f"of {', '.join(_WITH_SEVERAL)}"
            )
        return Sampler(_WITH_SEVERAL[name]())
    if "." in name:
        return Sampler(imported_sampler(name), uses_ranks(name))
    if name not in SAMPLERS:
        raise UserError(f"there is no sampler named {name}: {nearest(name, SAMPLERS)}")
    return Sampler(SAMPLERS[name](), uses_history=name in _WITH_TRANSFER)

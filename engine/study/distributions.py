"""How parameters are stored: as numbers within bounds where they are numbers."""

from __future__ import annotations

from collections.abc import Iterable

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial

from foundation.errors import UserError
from search_spaces.space import Parameter, SearchSpace

__all__ = ["distributions_for"]


def distributions_for(
    space: SearchSpace, trials: Iterable[FrozenTrial]
) -> dict[str, BaseDistribution]:
    """A distribution for each parameter.

    Numbers are stored as numbers within bounds: pictures then have a proper axis, and a value
    added to the space later does not clash with the trials that are there. Powers of two have a
    logarithmic axis, unless the study has stored them with a linear one, which Optuna keeps to.

    Args:
        space: the parameters.
        trials: of the study, which decide by what they have stored.

    Raises:
        UserError: if a study with a logarithmic axis is to take a value that has no place on it.
    """
    stored = next((trial.distributions for trial in trials if trial.distributions), {})
    return {
        parameter.name: _distribution(parameter, stored.get(parameter.name))
        for parameter in space.parameters
    }


def _distribution(parameter: Parameter, stored: BaseDistribution | None) -> BaseDistribution:
    values = parameter.values
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        whole = [int(value) for value in values]
        log = stored.log if isinstance(stored, IntDistribution) else _are_powers_of_two(whole)
        if log and min(whole) < 1:
            raise UserError(
                f"the study has a logarithmic axis for {parameter.name}, which {min(whole)} has no "
                "place on: give --study a new name"
            )
        return IntDistribution(min(whole), max(whole), log=log)
    if all(isinstance(value, float) for value in values):
        return FloatDistribution(float(min(values)), float(max(values)))
    return CategoricalDistribution(values)


def _are_powers_of_two(values: list[int]) -> bool:
    return all(value > 0 and value & (value - 1) == 0 for value in values)

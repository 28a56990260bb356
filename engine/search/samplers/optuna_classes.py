"""Optuna samplers, and samplers made for Optuna, by the dotted name of their class."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, TPESampler

from engine.search.model.search_state import SearchState
from foundation.errors import UserError, nearest

__all__ = ["imported_sampler", "uses_ranks"]

_WARNS = "warn_independent_sampling"
_SIMILAR = 0.4  # "TPE" is to "TPESampler"


def imported_sampler(name: str) -> Callable[[SearchState], BaseSampler]:
    """Makes the sampler of a class such as "optuna.samplers.NSGAIISampler", with its defaults.

    A new one is made for each proposal, with its own seed if it takes one. It has to keep its state
    in its study's trials, as Optuna's own samplers do.

    Raises:
        UserError: if there is no such class, it is not a sampler, or it cannot be made.
    """
    sampler_class = _imported(name)
    parameters = inspect.signature(sampler_class).parameters
    needed = [
        parameter.name
        for parameter in parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if needed:
        raise UserError(
            f"the sampler {name} needs {' and '.join(needed)}, which cannot be given here: "
            "choose one whose arguments all have defaults"
        )

    # Where it is deprecated, its default is None, and Optuna warns of any value.
    warns = _WARNS in parameters and parameters[_WARNS].default is True
    quiet = {_WARNS: False} if warns else {}

    def make(state: SearchState) -> BaseSampler:
        taken: dict[str, Any] = dict(quiet)
        if "seed" in parameters:
            taken["seed"] = int(state.rng.integers(2**32))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            try:
                return sampler_class(**taken)
            except Exception as error:
                raise UserError(f"the sampler {name} cannot be made: {error}") from error

    return make


def uses_ranks(name: str) -> bool:
    """Whether it sees ordered parameters as numbers, as most samplers do; TPE does not."""
    return not issubclass(_imported(name), TPESampler)


def _imported(name: str) -> type[BaseSampler]:
    module_name, _, class_name = name.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except (ImportError, TypeError, ValueError) as error:
        raise UserError(
            f"there is no sampler {name} ({error}): write the dotted name of a class, such as "
            "optuna.samplers.NSGAIISampler"
        ) from error
    if not hasattr(module, class_name):
        known = [key for key in vars(module) if _is_sampler(getattr(module, key))]
        near = nearest(class_name, known, _SIMILAR)
        raise UserError(f"{module_name} has no sampler {class_name}: {near}")
    found: type[BaseSampler] = getattr(module, class_name)
    if not _is_sampler(found):
        raise UserError(f"{name} is not a sampler: it has to be a subclass of {_BASE}")
    return found


def _is_sampler(found: object) -> bool:
    return inspect.isclass(found) and issubclass(found, BaseSampler)


_BASE = f"{BaseSampler.__module__.rpartition('.')[0]}.{BaseSampler.__name__}"

"""Search spaces: parameters with their values, and the rules that prune their combinations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from foundation.config import Config, ParameterValue

__all__ = ["HasKwargs", "Parameter", "Rule", "SearchSpace", "kebab"]


@dataclass(frozen=True)
class Parameter:
    """One tuned parameter and the values it may take, in ascending or listed order.

    Args:
        name: the kernel's name of it.
        values: numbers, truth values or names.
        ordered: whether neighbouring values perform alike, as sizes do and names do not; None to
            decide by the values: numbers are ordered.
        only_if: if given, the parameter has an effect only in configurations for which this
            holds; in all others only its first value is valid.

    Raises:
        ValueError: if there is no value, or a value is listed twice.
    """

    name: str
    values: tuple[ParameterValue, ...]
    ordered: bool | None = None
    only_if: Callable[[Config], bool] | None = None

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError(f"parameter {self.name} has no values: give it at least one")
        if len(set(self.values)) != len(self.values):
            raise ValueError(f"parameter {self.name} lists a value twice: {self.values}")

    @property
    def is_ordered(self) -> bool:
        """Whether neighbouring values perform alike."""
        if self.ordered is not None:
            return self.ordered
        return all(isinstance(value, int | float) for value in self.values)


@dataclass(frozen=True)
class Rule:
    """A pruning rule: a named reason why some configurations are invalid or, if soft, unlikely.

    Args:
        name: short, in kebab case; stored with trials that violate the rule.
        reason: one sentence for the user.
        allows: whether a configuration satisfies the rule. It may depend on the configuration
            only.
        spares: this configuration is always allowed.
        soft: a guess. Configurations that violate it are tried later, and may win.
    """

    name: str
    reason: str
    allows: Callable[[Config], bool]
    spares: Config | None = None
    soft: bool = False

    def forbids(self, config: Config) -> bool:
        """Whether the configuration violates the rule and is not spared."""
        return config != self.spares and not self.allows(config)


class HasKwargs(Protocol):
    """What `triton.Config` is: an object with the values of a kernel's parameters."""

    kwargs: Mapping[str, ParameterValue]


@dataclass(frozen=True)
class SearchSpace:
    """The valid configurations: every combination of the parameters' values that violates no rule.

    Args:
        parameters: the tuned parameters.
        rules: the pruning rules; a valid configuration satisfies all that are not soft.
        default: what a user would run without tuning; tried first.
        members: if given, only these combinations exist (a space read from a table).
        notes: sentences for the user on how the space came about.
    """

    parameters: tuple[Parameter, ...]
    rules: tuple[Rule, ...] = ()
    default: Config | None = None
    members: frozenset[Config] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_configs(
        cls, configs: Iterable[Mapping[str, ParameterValue] | HasKwargs]
    ) -> SearchSpace:
        """The space that consists of the configurations in a table; repeated rows count once.

        Args:
            configs: mappings from parameter name to value, or objects such as `triton.Config`.

        Raises:
            ValueError: if the table is empty or its rows name different parameters.
        """
        rows = list(dict.fromkeys(map(_row, configs)))
        if not rows:
            raise ValueError("the table of configurations is empty: give at least one")
        names = list(rows[0])
        for row in rows:
            if set(row) != set(names):
                raise ValueError(f"the rows name different parameters: {list(row)} and {names}")
        parameters = tuple(Parameter(name, _distinct(row[name] for row in rows)) for name in names)
        return cls(parameters=parameters, members=frozenset(rows))

    def violation(self, config: Config) -> Rule | None:
        """The first rule that `config` violates, or None if it is valid."""
        if self.members is not None and config not in self.members:
            return _NOT_IN_TABLE
        return next((rule for rule in self.constraints if rule.forbids(config)), None)

    def is_combination(self, config: Mapping[str, object]) -> bool:
        """Whether each parameter of the space, and nothing else, has one of its values."""
        return len(config) == len(self.parameters) and all(
            config.get(parameter.name) in parameter.values for parameter in self.parameters
        )

    def holds(self, config: Config) -> bool:
        """Whether it is a valid configuration of this space."""
        return self.is_combination(config) and self.violation(config) is None

    @property
    def constraints(self) -> tuple[Rule, ...]:
        """Every rule that is not soft; those of conditional parameters come first."""
        conditional = (_only_if(parameter) for parameter in self.parameters)
        made = (rule for rule in conditional if rule is not None)
        return (*made, *(rule for rule in self.rules if not rule.soft))

    @property
    def guesses(self) -> tuple[Rule, ...]:
        """The soft rules."""
        return tuple(rule for rule in self.rules if rule.soft)

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name.

        Raises:
            KeyError: if there is none.
        """
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise KeyError(name)

    def config_of(self, ranks: Sequence[int]) -> Config:
        """The combination of the values at these places, one for each parameter."""
        chosen = zip(self.parameters, ranks, strict=True)
        return Config({parameter.name: parameter.values[rank] for parameter, rank in chosen})

    def combinations(self) -> Iterator[Config]:
        """Every combination of values, allowed or not, in a fixed order."""
        names = [parameter.name for parameter in self.parameters]
        for values in itertools.product(*(parameter.values for parameter in self.parameters)):
            yield Config(dict(zip(names, values, strict=True)))

    def valid_configs(self) -> Iterator[Config]:
        """Every valid configuration, in the order of `combinations`."""
        every = self.combinations() if self.members is None else self._members_in_order()
        return (config for config in every if self.violation(config) is None)

    def _members_in_order(self) -> Iterator[Config]:
        """The members as `combinations` would list them; there may be far too many of those."""
        names = [parameter.name for parameter in self.parameters]
        ranks = [
            {value: rank for rank, value in enumerate(parameter.values)}
            for parameter in self.parameters
        ]
        rows = [tuple(member[name] for name in names) for member in self.members or ()]
        rows.sort(key=lambda row: [rank[value] for rank, value in zip(ranks, row, strict=True)])
        return (Config(dict(zip(names, row, strict=True))) for row in rows)


_NOT_IN_TABLE = Rule("not-in-table", "the table of configurations does not list it", lambda _: True)


def _row(row: Mapping[str, ParameterValue] | HasKwargs) -> Config:
    return Config(row if isinstance(row, Mapping) else row.kwargs)


def kebab(name: str) -> str:
    """A parameter's or dimension's name as part of a rule's name."""
    return name.lower().replace("_", "-")


def _only_if(parameter: Parameter) -> Rule | None:
    """The rule of a conditional parameter, or None for any other."""
    condition, first, name = parameter.only_if, parameter.values[0], parameter.name
    if condition is None:
        return None
    return Rule(
        f"{kebab(name)}-has-an-effect",
        f"{name} has no effect here, so it stays {first}",
        lambda config: config[name] == first or condition(config),
    )


def _distinct(values: Iterable[ParameterValue]) -> tuple[ParameterValue, ...]:
    """The distinct values: numbers in ascending order, others in order of appearance."""
    distinct = list(dict.fromkeys(values))
    numeric = all(isinstance(value, int | float) for value in distinct)
    return tuple(sorted(distinct) if numeric else distinct)

"""A configuration: one value per tuned parameter, hashable and in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

__all__ = ["Config", "ParameterValue"]

ParameterValue = int | float | bool | str


class Config(Mapping[str, ParameterValue]):
    """An immutable mapping from parameter name to value.

    Two configurations are equal if they have the same names and values, in any order. Iteration
    keeps the order in which they were given, so that a configuration prints as its search space
    lists the parameters.
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: Mapping[str, ParameterValue]) -> None:
        self._values = dict(values)
        self._hash = hash(frozenset(self._values.items()))

    def __getitem__(self, name: str) -> ParameterValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._values == dict(other)

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self._values.items())

    def __repr__(self) -> str:
        return f"Config({self})"

    def __reduce__(self) -> tuple[type[Config], tuple[dict[str, ParameterValue]]]:
        return Config, (self._values,)

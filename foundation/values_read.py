"""Results that depend on some of a configuration's values are made once for all that share them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from foundation.config import Config, ParameterValue

__all__ = ["ByValuesRead"]

_T = TypeVar("_T")


class _Observed(Config):
    """A configuration that notes which of its values are read."""

    __slots__ = ("read",)

    def __init__(self, config: Config) -> None:
        super().__init__(dict(config))
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> ParameterValue:
        self.read.add(name)
        return super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        self.read.update(self._values)
        return super().__iter__()

    def __hash__(self) -> int:
        self.read.update(self._values)
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        self.read.update(self._values)
        return super().__eq__(other)

    def __str__(self) -> str:
        self.read.update(self._values)
        return super().__str__()

    def __reduce__(self) -> tuple[type[Config], tuple[dict[str, ParameterValue]]]:
        self.read.update(self._values)
        return super().__reduce__()


class ByValuesRead(Generic[_T]):
    """Remembers what a function makes of configurations, by the values that it read of them.

    Args:
        make: a function of a configuration; its result depends on nothing else that changes.
        most: how many results are kept; the oldest goes first.
        is_good: whether a result still serves; if not, it is made anew.
    """

    def __init__(
        self,
        make: Callable[[Config], _T],
        most: int = 8,
        is_good: Callable[[_T], bool] = lambda _: True,
    ) -> None:
        self._make = make
        self._most = most
        self._is_good = is_good
        # A name that the configuration lacks has None.
        self._made: dict[tuple[tuple[str, ParameterValue | None], ...], _T] = {}

    def __call__(self, config: Config) -> _T:
        """What the function makes of `config`."""
        for read, made in self._made.items():
            if all(config.get(name) == value for name, value in read) and self._is_good(made):
                return made
        observed = _Observed(config)
        made = self._make(observed)
        while len(self._made) >= self._most:
            del self._made[next(iter(self._made))]
        self._made[tuple((name, config.get(name)) for name in sorted(observed.read))] = made
        return made

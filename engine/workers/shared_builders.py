"""Builders that several problems share: their processes import the compiler once for all."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from engine.workers.artifacts import BuildFailure
from engine.workers.builders import Builder, BuilderPool
from engine.workers.spans import Span
from foundation.config import Config, ParameterValue
from rvv_runner.measurement import Artifact

__all__ = ["ProblemBuilders", "SharedBuilder"]

# Problems whose arguments a process keeps; those of a whole program may not fit in memory.
_MOST_KEPT = 4


class _ConfigOfProblem(Config):
    """A configuration of one of several problems, with what makes the builder of its problem."""

    __slots__ = ("make_builder", "problem")

    def __init__(
        self,
        values: Mapping[str, ParameterValue],
        problem: str,
        make_builder: Callable[[], Builder],
    ) -> None:
        super().__init__(values)
        self.problem, self.make_builder = problem, make_builder

    def __reduce__(self) -> tuple[type[_ConfigOfProblem], tuple[Any, ...]]:
        return _ConfigOfProblem, (self._values, self.problem, self.make_builder)


class SharedBuilder:
    """Builds configurations of any problem that `ProblemBuilders` send, in one process."""

    def __init__(self) -> None:
        self._made: OrderedDict[str, Builder] = OrderedDict()

    def build(self, config: Config) -> Artifact | BuildFailure:
        """The ELF of a configuration that `ProblemBuilders` sent, or why there is none.

        Raises:
            UserError: like the builders.
        """
        assert isinstance(config, _ConfigOfProblem)
        name = config.problem
        if name not in self._made:
            self._made[name] = config.make_builder()
        self._made.move_to_end(name)
        while len(self._made) > _MOST_KEPT:
            self._made.popitem(last=False)
        return self._made[name].build(Config(config))


class ProblemBuilders:
    """The builders of one problem, in a pool of several problems' builders.

    Args:
        pool: whose builders are `SharedBuilder`s.
        problem: a name that no other problem has.
        make_builder: makes the builder of the problem; picklable.
    """

    def __init__(
        self, pool: BuilderPool, problem: str, make_builder: Callable[[], Builder]
    ) -> None:
        self._pool = pool
        self._problem, self._make_builder = problem, make_builder

    def build(
        self, config: Config, spans: list[Span] | None = None, end_s: float | None = None
    ) -> Artifact | BuildFailure:
        """Build in the first free worker, as `BuilderPool.build` does."""
        sent = _ConfigOfProblem(config, self._problem, self._make_builder)
        return self._pool.build(sent, spans, end_s)

    def close(self) -> None:
        """End every worker of the pool at once."""
        self._pool.close()

"""Builders that several problems share: their processes import the compiler once for all."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping

from engine.workers.artifacts import BuildFailure
from engine.workers.builders import Builder, BuilderPool
from engine.workers.spans import Span
from foundation.config import Config, ParameterValue
from rvv_runner.measurement import Artifact

__all__ = ["ProblemBuilders", "SharedBuilder"]

# Problems whose arguments a process keeps; those of a whole program may not fit in memory.
_MOST_KEPT = 4


class _ConfigOfProblem(Config):
    """A configuration of one of several problems."""

    __slots__ = ("problem",)

    def __init__(self, values: Mapping[str, ParameterValue], problem: str) -> None:
        super().__init__(values)
        self.problem = problem

    def __reduce__(self) -> tuple[type[_ConfigOfProblem], tuple[dict[str, ParameterValue], str]]:  # type: ignore[override]
        return _ConfigOfProblem, (self._values, self.problem)


class SharedBuilder:
    """Builds configurations of several problems, in one process.

    Args:
        make_builders: makes the builder of each problem, by a name.
    """

    def __init__(self, make_builders: Mapping[str, Callable[[], Builder]]) -> None:
        self._make = make_builders
        self._made: OrderedDict[str, Builder] = OrderedDict()

    def build(self, config: Config) -> Artifact | BuildFailure:
        """The ELF of a configuration that `ProblemBuilders` sent, or why there is none.

        Raises:
            UserError: like the builders.
        """
        assert isinstance(config, _ConfigOfProblem)
        name = config.problem
        if name not in self._made:
            self._made[name] = self._make[name]()
        self._made.move_to_end(name)
        while len(self._made) > _MOST_KEPT:
            self._made.popitem(last=False)
        return self._made[name].build(Config(config))


class ProblemBuilders:
    """The builders of one problem, in a pool of several problems' builders.

    Args:
        pool: whose builders are `SharedBuilder`s.
        problem: the problem's name there.
    """

    def __init__(self, pool: BuilderPool, problem: str) -> None:
        self._pool = pool
        self._problem = problem

    def build(self, config: Config, spans: list[Span] | None = None) -> Artifact | BuildFailure:
        """Build in the first free worker, as `BuilderPool.build` does."""
        return self._pool.build(_ConfigOfProblem(config, self._problem), spans)

    def close(self) -> None:
        """End every worker of the pool at once."""
        self._pool.close()

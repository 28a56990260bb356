"""Scores samplers on recorded spaces: python benchmarks/search_quality.py SCORE_PY SPACES.

SCORE_PY is a tool that replays recorded spaces for an optimiser given as `module:factory`, and
SPACES the folder of the spaces; both are outside this project. That tool uses this file as the
optimiser, with a factory for each sampler, such as `search_quality:tpe`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from engine.search import Search
from engine.search.model.warm_start import History
from engine.search.samplers.registry import SAMPLERS
from foundation.config import Config, ParameterValue
from search_spaces.space import SearchSpace

__all__ = ["main"]


class RecordedSpace(Protocol):
    """What the tool passes to a factory."""

    def valid_configs(self) -> list[dict[str, ParameterValue]]: ...


class Optimiser:
    """A search over the recorded configurations, with the methods that the tool calls."""

    def __init__(
        self, space: RecordedSpace, sampler: str, seed: int, history: History = ()
    ) -> None:
        configs = SearchSpace.from_configs(space.valid_configs())
        self._search = Search(configs, sampler, seed, history=history)

    def ask(self) -> Config | None:
        return self._search.ask()

    def tell(self, config: Mapping[str, ParameterValue], seconds: float | None) -> None:
        self._search.tell(config, seconds)


def __getattr__(name: str) -> Callable[[RecordedSpace, int], Optimiser]:
    """The factory of the sampler with this name."""
    if name not in SAMPLERS:
        raise AttributeError(name)
    return lambda space, seed: Optimiser(space, name, seed)


def main() -> int:
    """Print the tool's last lines for each sampler; returns 1 if it failed for any."""
    parser = argparse.ArgumentParser(description="Scores samplers on recorded spaces.")
    parser.add_argument("score_py", type=Path, help="the tool that replays and scores")
    parser.add_argument("spaces", type=Path, help="folder of recorded spaces")
    parser.add_argument(
        "--samplers",
        default="auto,gp,tpe,ga,random",
        help="names, separated by commas; or module:factory, another optimiser of the tool",
    )
    parser.add_argument("--budget", type=int, default=100, help="configurations to try")
    parser.add_argument("--seeds", type=int, default=5, help="runs per space")
    parser.add_argument("--jobs", type=int, default=1, help="parallel runs")
    arguments = parser.parse_args()
    failed = [name for name in arguments.samplers.split(",") if not _score(name, arguments)]
    return 1 if failed else 0


def _score(sampler: str, arguments: argparse.Namespace) -> bool:
    """Run the tool for one sampler and print its summary; whether it succeeded."""
    here = Path(__file__).resolve()
    paths = [str(here.parent), str(here.parents[1]), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-B", arguments.score_py, "--blind"]
    optimiser = sampler if ":" in sampler else f"{here.stem}:{sampler}"
    command += ["--optimiser", optimiser, "--spaces", arguments.spaces]
    command += ["--budget", str(arguments.budget), "--seeds", str(arguments.seeds)]
    command += ["--jobs", str(arguments.jobs)]
    result = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(f"{sampler}:", *result.stdout.splitlines()[-2:], sep="\n  ", flush=True)
    return result.returncode == 0


if __name__ == "__main__":
    sys.exit(main())

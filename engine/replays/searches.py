"""The searches that can be replayed, by name."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from engine.replays import kernel_tuner_strategies
from engine.replays.own_sources import digest_of_file, digest_of_package
from foundation.config import ParameterValue
from foundation.errors import UserError, mistakes_in, nearest
from search_spaces.space import SearchSpace

__all__ = [
    "FILE_MARK",
    "KERNEL_TUNER",
    "Replayable",
    "factory",
    "file_and_name",
    "identity",
    "is_sampler",
]

KERNEL_TUNER = "kernel_tuner:"

_SUFFIX = ".py"
FILE_MARK = f"{_SUFFIX}:"
_METHODS = ("ask", "tell")


class Replayable(Protocol):
    """A search that is asked and told, one configuration at a time."""

    def ask(self) -> Mapping[str, ParameterValue] | None:
        """What to try next; None to end."""

    def tell(self, config: Mapping[str, ParameterValue], time_s: float | None) -> None:
        """The time in seconds of what it asked for, None if that failed."""


Factory = Callable[[SearchSpace, int], Replayable]


def is_sampler(name: str) -> bool:
    """Whether a name is that of a sampler, here or Optuna's, and not of a strategy or a file.

    Nothing large is imported.

    Raises:
        UserError: if the file is missing, its function or the strategy of Kernel Tuner is not
            named, or Kernel Tuner is not installed.
    """
    if f"{name}:" == KERNEL_TUNER:
        raise UserError(f"{name} has many strategies: name one, such as {KERNEL_TUNER}pso_small")
    if name.startswith(KERNEL_TUNER):
        if importlib.util.find_spec("kernel_tuner") is None:
            raise UserError(
                f"{name} needs Kernel Tuner, which is not installed: pip install kernel_tuner"
            )
        return False
    if name.endswith(_SUFFIX):
        raise UserError(
            f"{name} is a file: name the function in it that makes a search, {name}:make"
        )
    if FILE_MARK not in name:
        return True
    path = file_and_name(name)[0]
    if not path.is_file():
        raise UserError(f"there is no file {path}: write FILE.py:FACTORY")
    return False


def file_and_name(text: str) -> tuple[Path, str]:
    """The parts of FILE.py:FACTORY."""
    path, _, name = text.rpartition(":")
    return Path(path), name


def factory(name: str) -> Factory:
    """What makes a search of a space, from a seed; not for strategies of Kernel Tuner.

    Args:
        name: a sampler of this project, the dotted name of one of Optuna's, or FILE.py:FACTORY.

    Raises:
        UserError: if there is none of this name, or the file cannot be imported.
    """
    if FILE_MARK in name:
        return _from_file(*file_and_name(name))
    from engine.search import Search
    from engine.search.samplers.registry import sampler_named

    sampler_named(name)
    return lambda space, seed: Search(space, name, seed)


@cache
def _from_file(path: Path, name: str) -> Factory:
    path = path.absolute()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python file: write FILE.py:FACTORY")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))  # what stands beside the file can be imported
    try:
        with mistakes_in(path, "cannot be imported"):
            spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    made = getattr(module, name, None)
    if not callable(made):
        known = [text for text, value in vars(module).items() if inspect.isfunction(value)]
        raise UserError(f"{path} has no function {name}: {nearest(name, known)}")

    def make(space: SearchSpace, seed: int) -> Replayable:
        with mistakes_in(path, f"fails in {name}"):
            search = made(space, seed)
        missing = [method for method in _METHODS if not callable(getattr(search, method, None))]
        if missing:
            raise UserError(
                f"{path}: what {name} returns has no method {' and no '.join(missing)}: it needs "
                "ask() and tell(config, time_s)"
            )
        return _OwnSearch(search, path)

    return make


class _OwnSearch:
    """A search of a user's file, whose exceptions name the file and the line."""

    def __init__(self, search: Replayable, path: Path) -> None:
        self._search = search
        self._path = path

    def ask(self) -> Mapping[str, ParameterValue] | None:
        with mistakes_in(self._path, "fails in ask"):
            proposed = self._search.ask()
        if proposed is not None and not isinstance(proposed, Mapping):
            raise UserError(
                f"{self._path}: ask returns {proposed!r}: return a dictionary of parameters, or "
                "None to end"
            )
        return proposed

    def tell(self, config: Mapping[str, ParameterValue], time_s: float | None) -> None:
        with mistakes_in(self._path, "fails in tell"):
            self._search.tell(config, time_s)


def identity(name: str) -> str:
    """What tells a search from other versions of it: runs of another version do not count."""
    if name.startswith(KERNEL_TUNER):
        replayed_by = digest_of_file(Path(kernel_tuner_strategies.__file__))
        return f"{name} {version('kernel_tuner')} {replayed_by}"
    if FILE_MARK in name:
        return f"{name} {digest_of_file(file_and_name(name)[0].absolute())}"
    from engine.run.made_by import sampler_digest  # imports Optuna

    package = f" {digest_of_package(name)}" if "." in name else ""
    return f"{name}{package} optuna {version('optuna')} {sampler_digest()}"

"""The searches that can be replayed, by name."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from foundation.config import ParameterValue
from foundation.errors import UserError
from search_spaces.space import SearchSpace

__all__ = ["KERNEL_TUNER", "Replayable", "factory", "identity", "is_sampler", "label"]

KERNEL_TUNER = "kernel_tuner:"

_FILE = ".py:"
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
        UserError: if the file is missing, or Kernel Tuner is not installed.
    """
    if name.startswith(KERNEL_TUNER):
        if importlib.util.find_spec("kernel_tuner") is None:
            raise UserError(
                f"{name} needs Kernel Tuner, which is not installed: pip install kernel_tuner"
            )
        return False
    if _FILE not in name:
        return True
    path = _file_and_name(name)[0]
    if not path.is_file():
        raise UserError(f"there is no file {path}: write FILE.py:FACTORY")
    return False


def label(name: str) -> str:
    """A short form of a name for tables and charts: without the module, the file or the tuner."""
    short = name.rpartition(":")[2]
    return short if _FILE in name else short.rpartition(".")[2]


def _file_and_name(text: str) -> tuple[Path, str]:
    path, _, name = text.rpartition(":")
    return Path(path), name


def factory(name: str) -> Factory:
    """What makes a search of a space, from a seed; not for strategies of Kernel Tuner.

    Args:
        name: a sampler of this project, the dotted name of one of Optuna's, or FILE.py:FACTORY.

    Raises:
        UserError: if there is none of this name.
    """
    if _FILE in name:
        return _from_file(*_file_and_name(name))
    from engine.search import Search
    from engine.search.samplers.registry import sampler_named

    sampler_named(name)
    return lambda space, seed: Search(space, name, seed)


@cache
def _from_file(path: Path, name: str) -> Factory:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python file: write FILE.py:FACTORY")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))  # what stands beside the file can be imported
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    made = getattr(module, name, None)
    if not callable(made):
        raise UserError(f"{path} has no function {name}: write FILE.py:FACTORY")

    def make(space: SearchSpace, seed: int) -> Replayable:
        search: Replayable = made(space, seed)
        missing = [method for method in _METHODS if not callable(getattr(search, method, None))]
        if missing:
            raise UserError(f"what {path}:{name} returns has no method {' and no '.join(missing)}")
        return search

    return make


def identity(name: str) -> str:
    """What tells a search from other versions of it: runs of another version do not count."""
    if name.startswith(KERNEL_TUNER):
        return f"{name} {version('kernel_tuner')}"
    if _FILE in name:
        digest = hashlib.sha256(_file_and_name(name)[0].read_bytes())
        return f"{name} {digest.hexdigest()[:16]}"
    return f"{name} optuna {version('optuna')} {_own_digest()}"


@cache
def _own_digest() -> str:
    """Of the sources of the search in this project."""
    import engine.search

    folder = Path(inspect.getfile(engine.search)).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]

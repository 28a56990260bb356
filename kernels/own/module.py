"""Imports a user's file and calls its functions; their errors become UserErrors."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import triton

from foundation.errors import UserError, mistakes_in
from foundation.printing import others_print_aside
from foundation.programs import python_command
from foundation.user_folders import cache_folder
from kernels.own.other_kernels import asked_for_device
from kernels.own.seeded import seeded
from kernels.own.time_limit import time_limit

__all__ = ["call_by_name", "capture_advice", "import_file", "mistakes_of"]

_MODULE_PREFIX = "own_kernel_"
# A function that gives inputs or outputs runs several times, and takes seconds.
_LIMIT_S = 300.0
# What Triton, torch and its wheels for other devices say if there is no GPU.
_ASKS_FOR_GPU = re.compile(r"\b(CUDA|cuda|NVIDIA|HIP)\b|active drivers")
_NO_GPU = (
    "no GPU is used here, so make tensors without a device, and put what asks for one under "
    'if __name__ == "__main__"'
)


class _Config(triton.Config):  # type: ignore[misc]  # Triton ships no types
    """`triton.Config` that also takes triton-cpu's `num_threads`, which has no effect here."""

    def __init__(self, *arguments: Any, num_threads: int = 0, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.num_threads = num_threads


class _SourceLoader(SourceFileLoader):
    """Compiles the source each time.

    Python takes stored bytecode for current by the source's size and the second of its change, so
    an edit of one digit may go unseen.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def import_file(path: Path) -> ModuleType:
    """The file as a module, which imports others from its own folder first.

    Raises:
        UserError: if there is no such file, or its import fails; names the file, the line and the
            last line of the traceback.
    """
    if not path.is_file():
        raise UserError(f"there is no file {path}: give the path of a Python file with a kernel")
    # Torch's own place is in a folder that all users share, under a name that another may take.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder() / "inductor"))
    name = f"{_MODULE_PREFIX}{path.stem}"
    loader = _SourceLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where Triton looks for a kernel's globals
    with (
        mistakes_of(path, "cannot be imported"),
        _as_started(path),
        _folder_on_path(path),
        _tolerant_config(),
        asked_for_device(),
        others_print_aside(),
        seeded(0),  # what a file draws when it is imported is the same in every process, too
    ):
        loader.exec_module(module)
    return module


def call_by_name(path: Path, function: Callable[..., Any], known: Mapping[str, Any]) -> Any:
    """Call a function of the file with the known values of its parameters.

    Raises:
        UserError: if a parameter has no value, or if the function raises or does not end.
    """
    parameters = inspect.signature(function).parameters.values()
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for parameter in named:
        if parameter.name not in known and parameter.default is parameter.empty:
            is_tuned = parameter.name in known.get("config", ())
            raise UserError(
                f"{path}: {function.__name__} takes {parameter.name}, "
                + (
                    "which is tuned: take `config`, which holds it"
                    if is_tuned
                    else f"but there is only {', '.join(known)}"
                )
            )
    wanted = known if takes_all else {p.name: known[p.name] for p in named if p.name in known}
    where = f"fails in {function.__name__}"
    with (
        mistakes_of(path, where),
        _as_started(path),
        _folder_on_path(path),
        _tolerant_config(),
        asked_for_device(),
        others_print_aside(),
        time_limit(_LIMIT_S),
    ):
        return function(**wanted)


def capture_advice(path: Path) -> str:
    """What to do with a file that launches its kernels itself, as the end of a sentence."""
    command = f"{python_command('engine.capture')} -- python {shlex.quote(str(path))}"
    return f"or, if the file is a program, capture it and tune the capture: `{command}`"


@contextlib.contextmanager
def mistakes_of(path: Path, what: str) -> Iterator[None]:
    """As `mistakes_in`, with advice where the file asks for a GPU or ends the process."""

    def advice(last: str) -> str:
        if last.startswith("SystemExit"):
            return f': put what runs under if __name__ == "__main__", {capture_advice(path)}'
        return f": {_NO_GPU}" if _ASKS_FOR_GPU.search(last) else ""

    with mistakes_in(path, what, advice):
        yield


@contextlib.contextmanager
def _as_started(path: Path) -> Iterator[None]:
    """Within the block, the command line is the file's alone: this command's is not for it."""
    before = sys.argv
    sys.argv = [str(path)]
    try:
        yield
    finally:
        sys.argv = before


@contextlib.contextmanager
def _folder_on_path(path: Path) -> Iterator[None]:
    before = list(sys.path)
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        yield
    finally:
        sys.path[:] = before


@contextlib.contextmanager
def _tolerant_config() -> Iterator[None]:
    before = triton.Config
    triton.Config = _Config
    try:
        yield
    finally:
        triton.Config = before

"""Python imports this first in a program that is watched: its folder is on PYTHONPATH.

Nothing else happens until the program imports Triton, or FlagGems, which looks for a GPU before it
imports that. A `sitecustomize` that the program has besides is imported as it would have been.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

_FOLDER = Path(__file__).resolve().parent
_SETTINGS = "TRITON_RVV_LAUNCHES"


def _imported(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import_other() -> None:
    """The program's own sitecustomize, which stands behind this one."""
    here = [entry for entry in sys.path if entry and Path(entry).resolve() == _FOLDER]
    for entry in here:
        sys.path.remove(entry)
    del sys.modules["sitecustomize"]
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = _self


@contextmanager
def _with_this_package() -> Iterator[None]:
    """Within the block, `triton_rvv` can be imported, in another environment's Python too."""
    root = str(_FOLDER.parents[2])
    is_foreign = importlib.util.find_spec("triton_rvv") is None
    if is_foreign:
        sys.path.append(root)
    try:
        yield
    finally:
        if is_foreign:
            sys.path.remove(root)


def _start(_triton: ModuleType) -> None:
    with _with_this_package():
        from triton_rvv.launches.process import start

        start(os.environ[_SETTINGS])


def _before_flag_gems() -> None:
    importlib.import_module("triton")  # which starts to watch
    with _with_this_package():
        from triton_rvv.launches.process import prepare_flag_gems

        prepare_flag_gems()


_self = sys.modules["sitecustomize"]
if os.environ.get(_SETTINGS):
    _imports = _imported("_triton_rvv_imports", _FOLDER.parents[1] / "imports.py")
    _imports.when_imported("triton", _start)
    _imports.before_import("flag_gems", _before_flag_gems)
_import_other()

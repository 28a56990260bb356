"""Packages of others, and a user's folders, that have the name of one of this program's."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from foundation.command_line import EXIT_MISTAKE
from foundation.printing import say

__all__ = ["PACKAGES", "check_kernels", "explain_hidden_folders"]

_PROJECT = "triton-rvv-tuner"
# Those of this program that a user's folder may be called, too.
PACKAGES = frozenset(
    (
        "engine",
        "foundation",
        "gpu_runner",
        "kernels",
        "launchers",
        "rvv_runner",
        "search_spaces",
        "triton_rvv",
    )
)


def check_kernels(folder: Path) -> None:
    """Stop where `kernels` is not this program's own: a command in one sentence, with status 2.

    Args:
        folder: where this program's packages are.

    Raises:
        ImportError: where this program is imported, with the same sentence.
    """
    sentence = _why_foreign(folder)
    if sentence is None:
        return
    # While Python looks for what -m names, "-m" stands there.
    started = Path(sys.argv[0]).name if sys.argv else ""
    if started in ("-m", "rvv-tune"):
        say(f"{_PROJECT}: {sentence}", file=sys.stderr)
        sys.exit(EXIT_MISTAKE)
    raise ImportError(sentence)


def _why_foreign(folder: Path) -> str | None:
    own = folder / "kernels"
    again = f"install {_PROJECT} again with `pip install --force-reinstall --no-deps`"
    if any(folder.glob("kernels-*.dist-info")):
        return (
            f"the package kernels of PyPI and this program have written into one folder, {own}: "
            f"run `pip uninstall kernels`, then {again}"
        )
    if not (own / "__init__.py").is_file():
        return f"{own} lacks files that were installed there: {again}"
    found = importlib.util.find_spec("kernels")
    if found is None:
        return f"Python does not find {own}: {again}"
    places = [*(found.submodule_search_locations or ["kernels"])]
    script = Path(sys.argv[0]).absolute() if sys.argv else Path()
    if script.is_file() and script.parent == Path(places[0]).absolute().parent != folder:
        return (
            f"the folder kernels beside {script} hides this program's own package of that name: "
            "give the folder another name"
        )
    if found.origin is None:  # no package, so it hides what an editable install has
        first = Path(places[0]).absolute()
        return (
            f"the folder {first} hides this program's own kernels: run `rvv-tune`, which "
            "does not look there, or run this in another folder"
        )
    first = Path(found.origin).parent
    if first.samefile(own):
        return None
    return (
        f"the package kernels in {first.parent} hides this program's own: if that is the current "
        "folder, run this in another; or run `pip uninstall kernels`"
    )


def explain_hidden_folders() -> None:
    """Have Python say why it does not find what is in a user's folder behind one of the packages,
    such as `kernels.mine`."""
    if not any(isinstance(finder, _HiddenFolders) for finder in sys.meta_path):
        sys.meta_path.append(_HiddenFolders())


class _HiddenFolders:
    """The last of Python's finders, which is asked for what no other has found."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None.

        Raises:
            ModuleNotFoundError: if a folder of the path that a package of this program hides has
                a module of that name.
        """
        package, *parts = name.split(".")
        if package not in PACKAGES or not parts:
            return None
        for folder in (Path(entry, package).absolute() for entry in sys.path):
            module = folder.joinpath(*parts)
            if module.is_dir() or module.with_suffix(".py").is_file():
                raise ModuleNotFoundError(
                    f"no module {name}: {package} is a package of {_PROJECT}, which hides the "
                    f"folder {folder}: give the folder another name",
                    name=name,
                )
        return None

"""Whether `import kernels` leads to this program's kernels: PyPI has another package so called."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from foundation.command_line import EXIT_MISTAKE
from foundation.printing import say

__all__ = ["check_kernels"]

_PROJECT = "triton-rvv-tuner"


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
    if found.origin is None:  # no package, so it hides what an editable install has
        first = Path(next(iter(found.submodule_search_locations or ["kernels"]))).absolute()
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

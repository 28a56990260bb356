"""Whether this process is a notebook's kernel, and what it is spared there."""

from __future__ import annotations

import logging
import sys
import warnings

__all__ = ["in_notebook", "without_widget_advice"]


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")  # a notebook's kernel has imported it
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def without_widget_advice() -> None:
    """In a notebook, let Optuna and Ray be imported without advice to install ipywidgets: no
    output of theirs is shown."""
    if in_notebook():
        warnings.filterwarnings("ignore", message="IProgress not found")
        logging.getLogger("ray.widgets.util").setLevel(logging.WARNING)

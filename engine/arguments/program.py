"""The arguments of `tune` that the file of a capture takes in place of a kernel's."""

from __future__ import annotations

import argparse

from foundation.errors import UserError

__all__ = ["check_program_options"]


def check_program_options(arguments: argparse.Namespace) -> None:
    """Refuse options that are about a single study.

    Raises:
        UserError: naming those that are given.
    """
    single = ("shape", "dtype", "space", "study", "together", "mixed", "until", "timeout")
    given = [f"--{name}" for name in single if getattr(arguments, name)]
    if given:
        raise UserError(
            f"{arguments.kernel} is a capture, whose tasks are tuned within one --budget or "
            f"--trials: leave out {' and '.join(given)}"
        )

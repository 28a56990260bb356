"""The arguments of `tune` that the file of a capture takes in place of a kernel's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from foundation.errors import UserError

__all__ = ["check_program_options", "only_group"]


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


def only_group(groups: Sequence[Sequence[str]]) -> Sequence[str]:
    """The devices that a capture is tuned on, of groups whose times cannot be compared.

    Raises:
        UserError: for more than one group.
    """
    devices, *others = groups
    if others:
        names = ", ".join(group[0] for group in groups)
        raise UserError(
            "a capture is tuned for one kind of device and one number of cores at a time, not for "
            f"{names}: run the command once for each"
        )
    return devices

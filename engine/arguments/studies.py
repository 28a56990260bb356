"""The argument that chooses stored studies by the device that measured them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.workers.devices import board_info, board_names, check_device_name
from foundation.command_line import ArgumentParser
from foundation.completion import completes
from foundation.errors import UserError, listed
from rvv_runner.usage import named_cores, without_cores

if TYPE_CHECKING:
    from engine.study.trials import StoredTrials

__all__ = ["add_study_device_argument", "studies_of"]


def add_study_device_argument(parser: ArgumentParser) -> None:
    """Add the argument for the device whose studies are taken."""
    device = parser.add_argument(
        "--device",
        metavar="NAME",
        help="only studies of this device, on any number of cores unless it names one, as in "
        "emulated:x60@4cores (default: studies of all devices)",
    )
    completes(device, board_names)


def studies_of(studies: Sequence[StoredTrials], device: str) -> list[StoredTrials]:
    """The studies that a device measured.

    Args:
        studies: to choose from.
        device: its name, or its kind, as studies have it.

    Raises:
        UserError: if there is no such device, or none of the studies is of it.
    """
    by_device: dict[str, list[StoredTrials]] = {}
    for study in studies:
        stored = str(study.attribute("device"))
        names = {stored, without_cores(stored)} if named_cores(device) is None else {stored}
        for name in names:
            by_device.setdefault(name, []).append(study)
    if device not in by_device:
        check_device_name(device)
        device = board_info(device).study_device
    if device not in by_device and by_device:
        measured = listed(sorted({str(study.attribute("device")) for study in studies}), ", ")
        raise UserError(f"no study is of {device}: give --device one of {measured}")
    return by_device.get(device, [])

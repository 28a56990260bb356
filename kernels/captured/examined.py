"""What was found out about the tasks of a capture, kept beside it: FILE.examined.

To find out takes several runs of each kernel, and every process that builds it has to know.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from foundation.errors import UserError
from kernels.captured.block_rule import BlockRule
from kernels.captured.freedom import Freedom
from kernels.captured.grid_rule import Factor, GridRule
from kernels.captured.probe import Probed
from kernels.own.changed_inputs import Change

__all__ = ["ENDING", "Examined", "forget_examined", "keep_examined", "read_examined"]

ENDING = ".examined"
_FORMAT = 22  # raise it if tasks are examined otherwise


@dataclasses.dataclass(frozen=True)
class Examined:
    """What was found out about one task.

    Args:
        digest: of the kernel's source and of what was captured; another one makes this stale.
        probed: what may vary; None if the task cannot be tuned.
        refusal: why it cannot, in one sentence; "" if it can.
        is_wide: whether more may vary than the kernel's autotuner lists.
        within_s: the seconds that were too few to try every constexpr; None if each was tried.
    """

    digest: str
    probed: Probed | None
    refusal: str = ""
    is_wide: bool = False
    within_s: float | None = None

    def required(self) -> Probed:
        """What may vary.

        Raises:
            UserError: with the reason, if the task cannot be tuned.
        """
        if self.probed is None:
            raise UserError(self.refusal)
        return self.probed


def read_examined(capture: Path) -> dict[str, Examined]:
    """What is kept beside a capture, by task; nothing without such a file, or of a damaged one."""
    try:
        content = json.loads(_path(capture).read_text())
        if content["format"] != _FORMAT:
            return {}
        return {key: _examined(entry) for key, entry in content["tasks"].items()}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def keep_examined(capture: Path, found: Mapping[str, Examined]) -> None:
    """Add tasks to what is kept.

    Raises:
        UserError: if it cannot be written.
    """
    with _alone(capture):
        _write(capture, {**read_examined(capture), **found})


def forget_examined(capture: Path, keys: Collection[str]) -> None:
    """Keep nothing of these tasks any more.

    Raises:
        UserError: if the file cannot be written.
    """
    with _alone(capture):
        kept = read_examined(capture)
        if kept.keys() & set(keys):
            _write(capture, {key: entry for key, entry in kept.items() if key not in keys})


@contextlib.contextmanager
def _alone(capture: Path) -> Iterator[None]:
    """Within the block, no other process changes what is kept.

    Raises:
        UserError: if the capture cannot be read.
    """
    try:
        with capture.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise UserError(f"{capture} cannot be read: {error.strerror}") from error


def _write(capture: Path, every: Mapping[str, Examined]) -> None:
    """Replace the file as a whole."""
    tasks = {key: dataclasses.asdict(entry) for key, entry in every.items()}
    path = _path(capture)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}", dir=path.parent)
        try:
            with os.fdopen(handle, "w") as file:
                json.dump({"format": _FORMAT, "tasks": tasks}, file)
            Path(name).replace(path)
        except BaseException:  # a full disk, or Ctrl-C
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error


def _path(capture: Path) -> Path:
    return capture.with_name(capture.name + ENDING)


def _examined(entry: Mapping[str, Any]) -> Examined:
    probed = entry["probed"]
    return Examined(
        entry["digest"],
        None if probed is None else _probed(probed),
        entry["refusal"],
        entry["is_wide"],
        entry["within_s"],
    )


def _probed(entry: Mapping[str, Any]) -> Probed:
    rule = entry["rule"]
    x, y, z = rule["rest"]
    return Probed(
        GridRule((x, y, z), tuple(_factor(factor) for factor in rule["factors"])),
        tuple(Freedom(**{**f, "values": tuple(f["values"])}) for f in entry["freedoms"]),
        tuple(entry["varying"]),
        entry["in_fp32"],
        BlockRule({n: tuple(sizes) for n, sizes in entry["blocks"]["sizes"].items()}),
        entry["tail"],
        entry["fronts"],
        {name: Change(**change) for name, change in entry["changes"].items()},
        entry["unseen"],
    )


def _factor(entry: Mapping[str, Any]) -> Factor:
    return Factor(**{**entry, "others": tuple(entry["others"])})

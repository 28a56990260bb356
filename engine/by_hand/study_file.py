"""The study that a folder for tuning by hand belongs to; this file does not go to the board."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from foundation.errors import UserError
from foundation.programs import python_command

__all__ = ["StudyFile", "read_study_file", "write_study_file"]

_NAME = "study.json"


@dataclass(frozen=True)
class StudyFile:
    """What is needed to open the study again.

    Args:
        kernel, shape, dtype: the problem, as `kernels.registry` takes it.
        board: name of the board file.
        sampler: of the study.
        storage, study: where the trials are.
        made_with: compiler, board model and kernel source of the executables.
    """

    kernel: str
    shape: Mapping[str, int]
    dtype: str
    board: str
    sampler: str
    storage: str
    study: str
    made_with: Mapping[str, str]


def write_study_file(folder: Path, study: StudyFile) -> None:
    """Write the study file into the folder."""
    (folder / _NAME).write_text(json.dumps(asdict(study), indent=2) + "\n", encoding="utf-8")


def read_study_file(folder: Path) -> StudyFile:
    """Read what `write_study_file` wrote.

    Raises:
        UserError: if the folder has no such file.
    """
    try:
        return StudyFile(**json.loads((folder / _NAME).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UserError(
            f"{folder} is not a folder that `{python_command('engine.build')}` made ({error}): "
            "name one"
        ) from error

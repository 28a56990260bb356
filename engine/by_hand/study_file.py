"""The study that a folder for tuning by hand belongs to; this file does not go to the board."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from foundation.bounded_text import bounded_text
from foundation.errors import UserError
from foundation.own_key import is_own, mark_of
from foundation.programs import python_command
from foundation.shapes import as_shape

__all__ = ["StudyFile", "read_study_file", "write_study_file"]

_NAME = "study.json"
_MARK = "mark"  # by which its writer knows it again


@dataclass(frozen=True)
class StudyFile:
    """What is needed to open the study again.

    Args:
        kernel, shape, dtype: the problem, as `kernels.registry` takes it.
        board: name of the board file.
        sampler, seed: of the study.
        storage, study: where the trials are.
        made_with: compiler, board model and kernel source of the executables.
        is_own: whether a program of this user wrote the file.
    """

    kernel: str
    shape: Mapping[str, int]
    dtype: str
    board: str
    sampler: str
    storage: str
    study: str
    made_with: Mapping[str, str]
    seed: int = 0
    is_own: bool = True


def write_study_file(folder: Path, study: StudyFile) -> None:
    """Write the study file into the folder."""
    fields = asdict(study)
    del fields["is_own"]
    text = json.dumps({**fields, _MARK: mark_of(fields)}, indent=2)
    (folder / _NAME).write_text(text + "\n", encoding="utf-8")


def read_study_file(folder: Path) -> StudyFile:
    """Read what `write_study_file` wrote.

    Raises:
        UserError: if the folder has no such file.
    """
    try:
        fields = json.loads(bounded_text(folder / _NAME))
        mark = fields.pop(_MARK, None)
        _check(fields)
        return StudyFile(**fields, is_own=is_own(fields, mark))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(
            f"{folder} is not a folder that `{python_command('engine.build')}` made ({error}): "
            "name one"
        ) from error


def _check(fields: Mapping[str, object]) -> None:
    """Raise a ValueError for what no study file holds."""
    if as_shape(fields.get("shape")) is None:
        raise ValueError("its shape is none")
    made_with = fields.get("made_with")
    if type(fields.get("seed", 0)) is not int:
        raise ValueError("its seed is no number")
    others = ("shape", "made_with", "seed")
    texts = [value for name, value in fields.items() if name not in others]
    if not isinstance(made_with, dict) or not all(isinstance(t, str) for t in texts):
        raise ValueError("it holds something else than texts")

"""The file of a user's own kernel that a study says it is about."""

from __future__ import annotations

import os
import stat

from engine.study.identity import KERNEL_FILE
from engine.study.trials import StoredTrials
from foundation.errors import UserError
from kernels.captured.names import split_task_name
from kernels.own.kernel_path import split_path
from kernels.registry import is_captured_task, is_kernel_file

__all__ = ["kernel_file_of"]


def kernel_file_of(study: StoredTrials, advice: str) -> str:
    """The file or the task of a capture, as `kernels.registry.load_kernel` takes it.

    To load a kernel runs its file, and whoever may write to a storage names files in it. So it is
    a file of this user, that no others may write to.

    Args:
        study: of a kernel that is not shipped.
        advice: what to do where there is no such file, as the end of a sentence.

    Raises:
        UserError: if the study names none, or one that is not there or not this user's.
    """
    named, kernel = study.attribute(KERNEL_FILE), study.attribute("kernel")
    if not isinstance(named, str) or not is_kernel_file(named):
        raise UserError(
            f"{kernel} is a kernel of your own, and {study.study_name} does not say in which file: "
            f"{advice}"
        )
    path, _ = split_task_name(named) if is_captured_task(named) else split_path(named)
    try:
        status = path.stat()
    except OSError as error:
        raise UserError(
            f"the file {path} of {study.study_name} cannot be read ({error.strerror}): {advice}"
        ) from error
    if status.st_uid != os.geteuid() or status.st_mode & stat.S_IWOTH:
        raise UserError(
            f"{study.study_name} names the file {path}, which others than you may write to, so it "
            f"is not run: {advice}"
        )
    return named

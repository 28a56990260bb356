"""The names of captured tasks, as `kernels.registry.load_kernel` takes them."""

from __future__ import annotations

from pathlib import Path

from foundation.programs import python_command

__all__ = ["is_capture", "is_captured", "keys_advice", "split_task_name", "task_name"]

_BETWEEN = "#"  # a file and a key


def is_capture(name: str) -> bool:
    """Whether a kernel's name is the path of a capture's file."""
    if name.endswith(".py") or not Path(name).is_file():
        return False
    # Reading captures needs torch, which is slow to import.
    from kernels.captured.task_file import is_capture_file

    return is_capture_file(name)


def is_captured(name: str) -> bool:
    """Whether a kernel's name is the path of a capture's file, or the name of one of its tasks."""
    return is_capture(name) or (_BETWEEN in name and is_capture(str(split_task_name(name)[0])))


def task_name(capture: Path, key: str) -> str:
    """The name by which `kernels.registry.load_kernel` finds a task, in any process."""
    return f"{capture.resolve()}{_BETWEEN}{key}"


def keys_advice(capture: Path | str) -> str:
    """The command that lists the keys of a capture's tasks, as a part of a sentence."""
    return f"`{python_command('engine.tasks')} {capture}` lists the keys"


def split_task_name(name: str) -> tuple[Path, str]:
    """The file and the key in the name of a task."""
    path, _, key = name.rpartition(_BETWEEN)
    return Path(path), key

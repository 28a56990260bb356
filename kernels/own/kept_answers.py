"""What runs of a kernel told, kept for the next process."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from foundation.config import Config
from foundation.scratch import UNFINISHED, scratch_folder
from foundation.user_folders import cache_folder
from kernels.own.apart import found_apart
from kernels.own.journal import Journal
from kernels.own.telling import Telling
from kernels.spec import Problem
from triton_rvv.version import backend_version, folder_digest

__all__ = ["kept_answer", "kept_telling"]


def kept_telling(problem: Problem, find: Callable[[Journal], Telling]) -> Telling:
    """How the check's inputs are to differ from the file's.

    Args:
        problem: whose inputs they are.
        find: finds it where torch makes its tensors.
    """
    default = problem.default_config
    try:
        found = kept_answer(
            problem, "changes", [default], lambda journal: dataclasses.asdict(find(journal))
        )
        return Telling.of(found)
    except (TypeError, KeyError, AttributeError):  # nothing, or a file that is damaged
        return Telling(untried="the process that looked for others ended")


def kept_answer(
    problem: Problem,
    question: str,
    configs: Sequence[Config | None],
    find: Callable[[Journal], Any],
) -> Any:
    """What `find` gives, once for each problem and version of the compiler and of this package;
    None where the process that looks for it ends.

    What a kernel or a reference may do to its process, it does to another one.

    Args:
        problem: what runs.
        question: what is to be found out.
        configs: what it is about.
        find: gives what JSON has.
    """
    device = torch.get_default_device()
    job = {
        "kernel": problem.spec.load_name,
        "shape": dict(problem.shape),
        "dtype": problem.dtype,
        "device": str(device),
        "question": question,
        "configs": [dict(config) if config else None for config in configs],
    }
    # On a processor, runs of kernels have processes and limits of their own.
    is_bounded = device.type == "cpu" and problem.spec.callable_file is None
    key = (problem.spec.source_digest, json.dumps(job, default=str))

    def found() -> Any:
        # Without a reference nothing else runs, and a fork would start Triton's interpreter anew.
        if is_bounded and problem.spec.is_its_reference:
            return find(Journal())
        return found_apart(find, job, is_bounded=is_bounded)

    return _kept(key, found)


def _kept(key: tuple[str, ...], find: Callable[[], Any]) -> Any:
    """What `find` gives, or gave for the same key.

    Args:
        key: all that it follows from, versions aside.
        find: gives it; None, which is not kept, where it could not find out.
    """
    text = repr((backend_version(), folder_digest(Path(__file__).parent), *key))
    folder = cache_folder() / "telling"
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        pass  # there is none, or it is damaged
    found = find()
    if found is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with scratch_folder(UNFINISHED, folder) as scratch:
            written = scratch / path.name
            written.write_text(json.dumps(found), encoding="utf-8")
            written.replace(path)
    except OSError:
        pass  # on a full disk, the next process finds them again
    return found

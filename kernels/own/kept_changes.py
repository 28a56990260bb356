"""Changes of inputs that were found to tell more, kept for the next process."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import torch

from foundation.scratch import UNFINISHED, scratch_folder
from foundation.user_folders import cache_folder
from kernels.own.apart import found_apart
from kernels.own.journal import Journal
from kernels.own.telling import Telling
from kernels.spec import Problem
from triton_rvv.version import backend_version, folder_digest

__all__ = ["kept_telling"]


def kept_telling(
    problem: Problem, more: tuple[str, ...], find: Callable[[Journal], Telling]
) -> Telling:
    """What `find` gives, once for each problem and version of the compiler and of this package.

    Args:
        problem: whose inputs they are.
        more: what else it follows from.
        find: gives the changes where torch makes its tensors. What a kernel may do to its process,
            it does to another one: `HostRun` has its own, and elsewhere `found_apart` has.
    """
    device = torch.get_default_device()
    if device.type == "cpu" and problem.spec.callable_file is None:
        found = _kept((problem.spec.source_digest, *more), lambda: find(Journal()))
    else:
        job = {
            "kernel": problem.spec.load_name,
            "shape": dict(problem.shape),
            "dtype": problem.dtype,
            "device": str(device),
        }
        found = _kept((problem.spec.source_digest, *more), lambda: found_apart(find, job))
    return found or Telling(untried="the process that looked for others ended")


def _kept(key: tuple[str, ...], find: Callable[[], Telling | None]) -> Telling | None:
    """What `find` gives, or gave for the same key.

    Args:
        key: all that it follows from, versions aside.
        find: gives the changes; None, which is not kept, where it could not find out.
    """
    text = repr((backend_version(), folder_digest(Path(__file__).parent), *key))
    folder = cache_folder() / "telling"
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
    try:
        return Telling.of(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass  # there is none, or it is damaged
    found = find()
    if found is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with scratch_folder(UNFINISHED, folder) as scratch:
            written = scratch / path.name
            written.write_text(json.dumps(dataclasses.asdict(found)), encoding="utf-8")
            written.replace(path)
    except OSError:
        pass  # on a full disk, the next process finds them again
    return found

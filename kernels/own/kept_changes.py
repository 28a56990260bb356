"""Changes of inputs that were found to tell more, kept for the next process."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from foundation.scratch import UNFINISHED, scratch_folder
from foundation.user_folders import cache_folder
from kernels.own.changed_inputs import Change
from kernels.own.telling import Telling
from triton_rvv.version import backend_version, folder_digest

__all__ = ["kept_changes"]


def kept_changes(key: tuple[str, ...], find: Callable[[], Telling]) -> Telling:
    """What `find` gives, once for each key and version of the compiler and of this package.

    Args:
        key: all that it follows from.
        find: gives the changes.
    """
    text = repr((backend_version(), folder_digest(Path(__file__).parent), *key))
    folder = cache_folder() / "telling"
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        changes = {name: Change(**fields) for name, fields in kept["changes"].items()}
        return Telling(changes, str(kept["refused"]), str(kept["endless"]), str(kept["untried"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass  # there is none, or it is damaged
    found = find()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with scratch_folder(UNFINISHED, folder) as scratch:
            written = scratch / path.name
            written.write_text(json.dumps(dataclasses.asdict(found)), encoding="utf-8")
            written.replace(path)
    except OSError:
        pass  # on a full disk, the next process finds them again
    return found

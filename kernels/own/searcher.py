"""The process that looks for inputs that tell on a GPU: python -m kernels.own.searcher."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import torch

from kernels.own.apart import tell_of
from kernels.own.journal import Journal
from kernels.own.kernel_path import split_path
from kernels.own.spec import finder_of
from kernels.own.telling import Telling

__all__ = ["main"]


def main(job: dict[str, Any], descriptor: int) -> None:
    """Look for them, and end with whoever asked.

    Args:
        job: as for `found_apart`, with the outcomes that are known.
        descriptor: of the file to tell of each step in.
    """
    find = finder_of(*split_path(job["kernel"]))

    def found(journal: Journal) -> Telling:
        with torch.device(job["device"]):
            return find(job["shape"], job["dtype"], journal)

    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        tell_of(found, job["known"], out)
    os._exit(0)  # whatever is still in a GPU's queue


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), int(sys.argv[2]))

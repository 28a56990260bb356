"""The process that answers what runs on a GPU tell: python -m kernels.own.searcher."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import torch

from foundation.config import Config
from kernels.own.apart import tell_of
from kernels.own.journal import Journal
from kernels.own.kernel_path import split_path
from kernels.own.spec import answers_of

__all__ = ["main"]


def main(job: dict[str, Any], descriptor: int) -> None:
    """Answer a question, and end with whoever asked.

    Args:
        job: as for `found_apart`, with the outcomes that are known.
        descriptor: of the file to tell of each step in.
    """
    answer = answers_of(*split_path(job["kernel"]), job["shape"], job["dtype"])
    configs = [Config(config) if config else None for config in job["configs"]]

    def found(journal: Journal) -> Any:
        with torch.device(job["device"]):
            return answer(job["question"], configs, journal)

    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        tell_of(found, job["known"], out)
    os._exit(0)  # whatever is still in a GPU's queue


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), int(sys.argv[2]))

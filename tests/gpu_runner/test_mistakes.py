"""What a GPU's process says of arguments that cannot be made; no GPU is needed."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from foundation.config import Config
from foundation.errors import UserError
from gpu_runner import measuring
from gpu_runner.protocol import Request


@dataclass(frozen=True)
class Source:
    """Fails to make arguments with an error of its own."""

    error: str
    is_users: bool

    def make(self, config, device):
        raise (UserError if self.is_users else RuntimeError)(self.error)


@dataclass(frozen=True)
class Artifact:
    source: Source
    config: Config


@pytest.mark.parametrize(
    ("source", "status", "reason"),
    [
        (Source("file.py:3 fails in reference: no", True), "mistake", "file.py:3 fails in ref"),
        (Source("sizes differ", False), "mistake", "cannot be made: RuntimeError: sizes differ"),
        (Source("CUDA error: uncorrectable ECC error", False), "board", "uncorrectable ECC"),
    ],
)
def test_whose_fault_it_is(source, status, reason):
    context = measuring._Context("cpu", None, None, "", {})
    request = Request(pickle.dumps(Artifact(source, Config({}))), 1)
    report = measuring._report(context, request, None)
    assert report.status == status
    assert reason in report.reason

"""What a GPU's process says of arguments that cannot be made; no GPU is needed."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest
import torch

from foundation.config import Config
from foundation.errors import UserError
from gpu_runner import measuring
from gpu_runner.protocol import Report, Request

GIB = 1 << 30


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
        (Source("CUDA error: out of memory", False), "runtime", "memory ran out"),
    ],
)
def test_whose_fault_it_is(source, status, reason, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (79 * GIB, 80 * GIB))
    report = report_of(source)
    assert report.status == status
    assert reason in report.reason


def test_memory_that_others_hold_is_the_boards_fault(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (20 * GIB, 80 * GIB))
    report = report_of(Source("Triton Error [CUDA]: out of memory", False))
    assert report.status == "board"
    assert report.reason.endswith("other programs hold 60.0 GiB of it")


def test_where_memory_runs_out_arguments_of_other_problems_go(monkeypatch):
    def measured(context, request, connection):
        if context.arguments:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return Report("correct")

    monkeypatch.setattr(measuring, "_measured", measured)
    assert report_of(Source("", False), {"another": "its arguments"}).status == "correct"


def report_of(source, arguments=None):
    """What the process reports of an artifact with a source, while it keeps arguments."""
    context = measuring._Context("cpu", None, None, "", arguments or {})
    return measuring._report(context, Request(pickle.dumps(Artifact(source, Config({}))), 1), None)

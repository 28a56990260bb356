"""Labels that a reference ignores and the file's own inputs never have."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.registry import load_kernel, make_problem

pytestmark = pytest.mark.timeout(120)

LOSS = """
import torch
import triton
import triton.language as tl


@triton.jit
def loss_kernel(x_ptr, labels_ptr, loss_ptr, N, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    label = tl.load(labels_ptr + row)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=-float("inf"))
    most = tl.max(x, 0)
    loss = most + tl.log(tl.sum(tl.exp(x - most), 0)) - tl.load(x_ptr + row * N + label)
    tl.store(loss_ptr + row, LOSS)


def get_loss_kernel_autotune_config():
    return [triton.Config({"BLOCK": 128})]


def arguments(M=32, N=120):
    labels = torch.randint(0, N, (M,))
    return {"x_ptr": torch.randn(M, N), "labels_ptr": labels, "loss_ptr": torch.empty(M), "N": N}


def grid(meta):
    return (meta["M"],)


def reference(x_ptr, labels_ptr):
    return {"loss_ptr": REFERENCE}
"""
TORCH = (
    "torch.nn.functional.cross_entropy(x_ptr, labels_ptr, ignore_index=IGNORED, reduction='none')"
)
# Python takes places from the end, too, so -100 means nothing else than -101 does.
INDEXED = "x_ptr.logsumexp(1) - x_ptr[torch.arange(len(x_ptr)), labels_ptr]"


def said_of(folder, loss: str = "loss", reference: str = TORCH, ignored: int = -100):
    """The check's notes, and the labels of the checked run."""
    path = folder / "loss.py"
    text = LOSS.replace("LOSS)", f"{loss})").replace("REFERENCE", reference)
    path.write_text(text.replace("IGNORED", str(ignored)))
    problem = make_problem(load_kernel(str(path)), {})
    assert problem.spec.check is not None
    notes = problem.spec.check(problem)
    _, labels, *_ = problem.arguments(problem.default_config)
    return notes, set(np.asarray(labels.value).tolist())


@pytest.mark.parametrize("ignored", [-100, -1])
def test_a_label_that_only_the_reference_ignores_is_named(tmp_path, ignored):
    (note,), labels = said_of(tmp_path, ignored=ignored)
    assert note.startswith(
        f"the default configuration is wrong where labels_ptr has {ignored}, a label that "
        f"reference ignores (it refuses {ignored - 1}), and the check leaves it out: "
    )
    assert ignored not in labels


def test_one_that_the_kernel_ignores_too_is_tried(tmp_path):
    notes, labels = said_of(tmp_path, loss="tl.where(label == -100, 0.0, loss)")
    assert notes == ()
    assert -100 in labels


def test_a_place_counted_from_the_end_is_no_label(tmp_path):
    notes, _ = said_of(tmp_path, reference=INDEXED)
    assert notes == ()

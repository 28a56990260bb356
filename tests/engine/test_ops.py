"""Kernels as functions of tensors: right for any shape and layout, with the stored winner."""

from __future__ import annotations

import logging
from typing import cast

import pytest
import torch
from torch.nn import functional
from triton.runtime.driver import driver

import engine
from engine.run.identity import identity_of
from engine.search import Search
from engine.study.location import DEFAULT_STORAGE
from engine.study.storage import open_study
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """A current folder without studies."""
    monkeypatch.chdir(tmp_path)


def normal(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(dtype)


def close(found, expected, dtype=torch.float32):
    tolerance = 2e-5 if dtype == torch.float32 else 2 * torch.finfo(dtype).eps
    torch.testing.assert_close(found, expected.to(found.dtype), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "layout",
    [
        lambda t: t,
        lambda t: t.t().contiguous().t(),
        lambda t: torch.cat([t, t], dim=1)[:, : t.shape[1]],
        lambda t: t.repeat_interleave(2, dim=1)[:, ::2],
        lambda t: t[:1].expand(t.shape),
    ],
    ids=["dense", "transposed", "wide rows", "every second", "repeated"],
)
def test_matmul_takes_any_layout(layout, dtype):
    a, b = layout(normal(33, 17, dtype=dtype)), layout(normal(17, 29, dtype=dtype))
    close(engine.ops.matmul(a, b), a.double() @ b.double(), dtype)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (0, 3, 4), (3, 0, 4), (3, 4, 0), (5, 70, 3)])
def test_matmul_takes_any_size(m, n, k):
    a, b = normal(m, k), normal(k, n)
    close(engine.ops.matmul(a, b), a @ b)


def test_other_products():
    a, b = normal(3, 17, 9), normal(3, 9, 21)
    close(engine.ops.matmul(a, b), a @ b)
    a, b = (torch.randint(-128, 128, shape, dtype=torch.int8) for shape in ((7, 300), (300, 9)))
    found = engine.ops.matmul(a, b)
    assert found.dtype == torch.int32
    assert torch.equal(found, (a.int() @ b.int()))


def test_rows():
    for x in (normal(3, 5, 100), normal(7), normal(0, 4), normal(4, 0), normal(100, 6).t()):
        close(engine.ops.softmax(x), torch.softmax(x, -1))
    x, weight, bias = normal(2, 3, 50), normal(50), normal(51)[1:]
    close(engine.ops.layernorm(x, weight, bias), functional.layer_norm(x, (50,), weight, bias))
    close(
        engine.ops.add(x, x.transpose(0, 1).reshape(x.shape)),
        x + x.transpose(0, 1).reshape(2, 3, 50),
    )
    logits, labels = normal(9, 30), torch.tensor([0, 29, -1, 3, 4, 5, 6, 7, -100])
    expected = functional.cross_entropy(logits, labels.clamp(0), reduction="none")
    close(engine.ops.cross_entropy(logits, labels), torch.where(labels < 0, 0.0, expected))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_after_rope(causal):
    x = normal(11, 3, 20)
    angles = normal(11, 10)
    cosines, sines = angles.cos(), angles.sin()
    real, imaginary = x[..., :10], x[..., 10:]
    c, s = cosines[:, None], sines[:, None]
    turned = torch.cat([real * c - imaginary * s, imaginary * c + real * s], dim=2)
    found = engine.ops.rope(x, cosines, sines)
    close(found, turned)
    q = found.transpose(0, 1)[None]  # no copy: the call makes it contiguous
    close(
        engine.ops.attention(q, q, 2 * q, causal=causal),
        functional.scaled_dot_product_attention(q, q, 2 * q, is_causal=causal),
    )


def test_the_winner_runs_near_where_it_was_tuned(caplog):
    """At more columns, its block would not cover a row."""
    caplog.set_level(logging.INFO, "triton_rvv_tuner")
    x = normal(16, 40)
    close(engine.ops.softmax(x), torch.softmax(x, -1))
    assert "softmax at M=16,N=40: nothing stored" in caplog.text
    problem = make_problem(load_kernel("softmax"), {"M": 16, "N": 64})
    info = load_board("host").info
    space = problem.space(info)
    stored = open_study(DEFAULT_STORAGE, identity_of(problem, info, "random"), space)
    search = Search(space, "random", trials=stored)
    while (config := search.ask()) is not None:
        rows = config["BLOCK_SIZE_M"]
        search.tell(config, 1e-3 if rows == 8 else 2e-3, attributes={"board": "host"})
    for columns in (64, 50, 400):
        x = normal(16, columns)
        close(engine.ops.softmax(x), torch.softmax(x, -1))
    texts = [record.getMessage() for record in caplog.records]
    assert any("BLOCK_SIZE_M=8,BLOCK_SIZE_N=64 for M=16,N=64: tuned at this" in t for t in texts)
    assert any("for M=16,N=50: the nearest shape M=16,N=64" in t for t in texts)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: engine.ops.softmax(cast("torch.Tensor", [1.0])), "x is of list: give a torch.T"),
        (lambda: engine.ops.matmul(normal(2, 3), normal(2, 3)), r"a is \(2, 3\) and b \(2, 3\)"),
        (lambda: engine.ops.matmul(normal(2, 3, 4), normal(4, 2)), "give .M, K. and .K, N."),
        (
            lambda: engine.ops.softmax(normal(2).double()),
            "x is in fp64: softmax takes fp32, f",
        ),
        (lambda: engine.ops.softmax(normal(2, 2).to("meta")), "x is not in this processor's mem"),
        (lambda: engine.ops.softmax(torch.tensor(1.0)), "x has no dimension"),
        (lambda: engine.ops.softmax(normal(2, 2).requires_grad_()), "x requires a gradient"),
        (
            lambda: engine.ops.layernorm(normal(2, 4), normal(4), normal(4).half()),
            "x is in fp32 and bias in fp16: convert one of them",
        ),
        (
            lambda: engine.ops.layernorm(normal(2, 4), normal(3), normal(4)),
            r"give weight as \(4,\)",
        ),
        (lambda: engine.ops.rope(normal(2, 2, 5), normal(2, 2), normal(2, 2)), "even HEAD_SIZE"),
        (lambda: engine.ops.add(normal(2), normal(3)), "give two tensors of one shape"),
        (
            lambda: engine.ops.cross_entropy(normal(2, 3), torch.tensor([0, 3])),
            "give 2 labels, each below 3",
        ),
        (
            lambda: engine.ops.softmax(torch.zeros(1).expand(2**11, 2**20)),
            "x has 2.31 elements or more",
        ),
    ],
)
def test_mistakes_are_named(call, sentence):
    with pytest.raises(UserError, match=sentence):
        call()


def test_another_target_of_triton_stays_active(monkeypatch):
    class Other:
        """Stands for a GPU's driver, which must not be used."""

    other = Other()
    monkeypatch.setattr(driver, "_active", other)
    close(engine.ops.add(normal(9), normal(9)), 2 * normal(9))
    assert driver.active is other

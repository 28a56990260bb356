"""Kernels at shapes, and torch's functions for the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from gpu_references import time_s
from torch.nn import functional

__all__ = ["ATTENTION", "DESCRIPTORS", "OTHERS", "PRODUCTS", "SPLIT_K", "THREE_PRODUCTS", "Other"]

_TRIALS = 60


@dataclass(frozen=True)
class Other:
    """A kernel at a shape, and the same in torch.

    Args:
        kernel, shape, dtype: as a user names them.
        torch: makes what torch does from tensors of these shapes.
        inputs: shapes of the tensors.
        goal: how many times torch's speed is wanted; None where nothing was set.
        trials: of the study; spaces that are larger get more.
    """

    kernel: str
    shape: Mapping[str, int]
    dtype: str
    torch: Callable[..., object]
    inputs: tuple[tuple[int, ...], ...]
    goal: float | None = None
    trials: int = _TRIALS

    def torch_s(self) -> float:
        """Seconds that torch takes."""
        kind = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[self.dtype]
        tensors = [torch.randn(*sizes, device="cuda").to(kind) for sizes in self.inputs]
        return time_s(lambda: self.torch(*tensors))


def _product(m: int, n: int, k: int, dtype: str = "fp16", kernel: str = "matmul") -> Other:
    return Other(kernel, {"M": m, "N": n, "K": k}, dtype, torch.matmul, ((m, k), (k, n)))


def _at_torchs_speed(m: int, n: int, k: int, kernel: str, trials: int) -> Other:
    return replace(_product(m, n, k, kernel=kernel), goal=1.0, trials=trials)


def _attention(z: int, h: int, context: int, head: int, causal: bool) -> Other:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    shape = {"Z": z, "H": h, "N_CTX": context, "D_HEAD": head}
    kernel = "flash_attention_fwd" + ("_causal" if causal else "")
    return Other(kernel, shape, "fp16", attend, ((z, h, context, head),) * 3)


def _rows(kernel: str, m: int, n: int, dtype: str, function: Callable[..., object]) -> Other:
    return Other(kernel, {"M": m, "N": n}, dtype, function, ((m, n),))


def _softmax(x: torch.Tensor) -> torch.Tensor:
    return functional.softmax(x, dim=1)


def _layer_norm(x: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x, (x.shape[1],), x[0], x[1])


def _cross_entropy(x: torch.Tensor) -> torch.Tensor:
    labels = torch.arange(x.shape[0], device=x.device)
    return functional.cross_entropy(x, labels, reduction="none")


THREE_PRODUCTS = (
    _product(4096, 4096, 4096),
    _product(64, 8192, 4096),
    _product(1024, 1024, 8192),
)
# The sums are split over programs; the space is six times as large.
SPLIT_K = (
    _at_torchs_speed(64, 8192, 4096, "split_k_matmul", 3 * _TRIALS),
    _at_torchs_speed(1024, 1024, 8192, "split_k_matmul", 3 * _TRIALS),
)
# Loads by descriptors, where plain or split products fall short; the space is twice as large.
DESCRIPTORS = (
    _at_torchs_speed(4096, 4096, 4096, "persistent_matmul", 2 * _TRIALS),
    _at_torchs_speed(64, 8192, 4096, "persistent_matmul", 2 * _TRIALS),
    _at_torchs_speed(1024, 1024, 8192, "persistent_matmul", 2 * _TRIALS),
)
ATTENTION = (replace(_attention(4, 32, 4096, 128, causal=False), goal=0.8),)

# Shapes that nothing here was written or chosen for.
PRODUCTS = (
    _product(4096, 11008, 4096),
    _product(4096, 11008, 4096, kernel="persistent_matmul"),
    _product(17, 5120, 5120),
    _product(17, 5120, 5120, kernel="split_k_matmul"),
    _product(17, 5120, 5120, kernel="persistent_matmul"),
    _product(300, 3000, 1000, "bf16"),
    _product(300, 3000, 1000, "bf16", kernel="persistent_matmul"),
    Other(
        "batched_matmul",
        {"B": 32, "M": 512, "N": 512, "K": 512},
        "fp16",
        torch.bmm,
        ((32, 512, 512), (32, 512, 512)),
    ),
)
OTHERS = (
    _attention(2, 16, 4096, 64, causal=False),
    _attention(2, 16, 4096, 64, causal=True),
    _attention(2, 16, 8192, 128, causal=True),
    _attention(2, 16, 4001, 128, causal=True),
    _rows("softmax", 4096, 12345, "fp16", _softmax),
    _rows("softmax", 16384, 1000, "fp32", _softmax),
    _rows("layernorm_fwd", 8192, 5000, "fp16", _layer_norm),
    _rows("cross_entropy", 2048, 128256, "bf16", _cross_entropy),
)

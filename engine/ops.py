"""Tuned kernels as functions of CPU tensors: `engine.ops.matmul(a, b)`.

Each call runs with the winner that is stored for this machine and its number of threads
(`engine.lookup`, device "host"), or with the kernel's default where nothing was tuned. Which, is
logged once for each shape. Any shape
is right. Tensors that are not laid out as a kernel needs them are copied first. There are no
gradients.
"""

from __future__ import annotations

import math

import torch

from engine.winners.host_calls import checked_inputs, run_on_host
from foundation.errors import UserError

__all__ = ["add", "attention", "cross_entropy", "layernorm", "matmul", "rope", "softmax"]


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The matrix product, or one product for each matrix of two batches.

    Args:
        a: (M, K) or (B, M, K), in fp32, fp16, bf16 or i8.
        b: (K, N) or (B, K, N), in the same type.

    Returns:
        (M, N) or (B, M, N) in that type, of i8 in i32; sums are in fp32 or i32.

    Raises:
        UserError: for other shapes or types, in one sentence.
    """
    kernel = "matmul" if isinstance(a, torch.Tensor) and a.dim() == 2 else "batched_matmul"
    dtype = checked_inputs(kernel, a=a, b=b)
    fits = a.dim() == b.dim() and a.dim() in (2, 3) and a.shape[-1] == b.shape[-2]
    if not fits or a.shape[:-2] != b.shape[:-2]:
        raise UserError(
            f"a is {_shape(a)} and b {_shape(b)}: give (M, K) and (K, N), or (B, M, K) and "
            "(B, K, N)"
        )
    (*batch, m, k), n = a.shape, b.shape[-1]
    c = torch.empty((*batch, m, n), dtype=torch.int32 if dtype == "i8" else a.dtype)
    sizes = {**({"B": batch[0]} if batch else {}), "M": m, "N": n, "K": k}
    run_on_host(kernel, dtype, sizes, {"a": a, "b": b, "c": c})
    return c


def softmax(x: torch.Tensor) -> torch.Tensor:
    """The softmax over the last dimension, in fp32, fp16 or bf16; exponentials are in fp32.

    Raises:
        UserError: for a tensor without dimensions, or another type.
    """
    dtype = checked_inputs("softmax", x=x)
    rows = _rows("x", x)
    y = torch.empty(rows.shape, dtype=x.dtype)
    run_on_host("softmax", dtype, dict(zip("MN", rows.shape, strict=True)), {"x": rows, "y": y})
    return y.reshape(x.shape)


def layernorm(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, epsilon: float = 1e-5
) -> torch.Tensor:
    """Layer normalisation over the last dimension, computed in fp32.

    Args:
        x: (..., N), in fp32, fp16 or bf16.
        weight, bias: (N,), in the same type.
        epsilon: added to the variance.

    Raises:
        UserError: for other shapes or types, in one sentence.
    """
    dtype = checked_inputs("layernorm_fwd", x=x, weight=weight, bias=bias)
    rows = _rows("x", x)
    m, n = rows.shape
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor.shape != (n,):
            raise UserError(f"x is {_shape(x)} and {name} {_shape(tensor)}: give {name} as ({n},)")
    y = torch.empty((m, n), dtype=x.dtype)
    arrays = {"x": rows, "weight": weight, "bias": bias, "y": y}
    arrays |= {name: torch.empty(m, dtype=torch.float32) for name in ("mean", "rstd")}
    run_on_host("layernorm_fwd", dtype, {"M": m, "N": n}, arrays, {"epsilon": epsilon})
    return y.reshape(x.shape)


def rope(x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """The rotary position embedding; the halves of a head are real and imaginary parts.

    Args:
        x: (TOKENS, HEADS, HEAD_SIZE), HEAD_SIZE even, in fp32, fp16 or bf16.
        cosines, sines: (TOKENS, HEAD_SIZE / 2), of each token's angles, in the same type.

    Raises:
        UserError: for other shapes or types, in one sentence.
    """
    dtype = checked_inputs("rope_fwd", x=x, cosines=cosines, sines=sines)
    if x.dim() != 3 or x.shape[2] % 2:
        raise UserError(f"x is {_shape(x)}: give (TOKENS, HEADS, HEAD_SIZE) with an even HEAD_SIZE")
    tokens, heads, head_size = x.shape
    for name, tensor in (("cosines", cosines), ("sines", sines)):
        if tensor.shape != (tokens, head_size // 2):
            raise UserError(
                f"x is {_shape(x)} and {name} {_shape(tensor)}: "
                f"give {name} as ({tokens}, {head_size // 2})"
            )
    y = torch.empty(x.shape, dtype=x.dtype)
    sizes = {"TOKENS": tokens, "HEADS": heads, "HEAD_SIZE": head_size}
    arrays = {"x": x, "cosines": cosines, "sines": sines, "y": y}
    run_on_host("rope_fwd", dtype, sizes, arrays)
    return y


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:
    """softmax(scale * q @ transposed k) @ v for every head, without storing the scores.

    Args:
        q, k, v: (Z, H, N_CTX, D_HEAD), in fp32, fp16 or bf16.
        causal: whether a query sees only the keys up to its own place.
        scale: of the scores; None for 1 / sqrt(D_HEAD).

    Raises:
        UserError: for other shapes or types, in one sentence.
    """
    kernel = "flash_attention_fwd_causal" if causal else "flash_attention_fwd"
    dtype = checked_inputs(kernel, q=q, k=k, v=v)
    if q.dim() != 4 or k.shape != q.shape or v.shape != q.shape or q.shape[3] == 0:
        raise UserError(
            f"q is {_shape(q)}, k {_shape(k)} and v {_shape(v)}: "
            "give all three as (Z, H, N_CTX, D_HEAD)"
        )
    sizes = dict(zip(("Z", "H", "N_CTX", "D_HEAD"), q.shape, strict=True))
    out = torch.empty(q.shape, dtype=q.dtype)
    logsumexp = torch.empty(q.shape[:3], dtype=torch.float32)
    arrays = {"q": q, "k": k, "v": v, "out": out, "logsumexp": logsumexp}
    factor = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    run_on_host(kernel, dtype, sizes, arrays, {"scale": factor})
    return out


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The cross entropy of each row, in fp32; 0 for a label below 0.

    Args:
        logits: (M, N), in fp32, fp16 or bf16.
        labels: (M,), in int64, below N.

    Raises:
        UserError: for other shapes, types or labels, in one sentence.
    """
    dtype = checked_inputs("cross_entropy", logits=logits)
    if logits.dim() != 2 or not isinstance(labels, torch.Tensor) or labels.dtype != torch.int64:
        raise UserError("give logits as (M, N) and labels as an int64 tensor of M classes")
    m, n = logits.shape
    if labels.shape != (m,) or (m and int(labels.max()) >= n):
        raise UserError(f"logits is {_shape(logits)}: give {m} labels, each below {n}")
    loss = torch.empty(m, dtype=torch.float32)
    arrays = {"logits": logits, "labels": labels, "loss": loss}
    run_on_host("cross_entropy", dtype, {"M": m, "N": n}, arrays)
    return loss


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The sum of two tensors of one shape; integers wrap.

    Raises:
        UserError: for different shapes, different types, or one that the kernel does not take.
    """
    dtype = checked_inputs("vector_add", x=x, y=y)
    if x.shape != y.shape:
        raise UserError(f"x is {_shape(x)} and y {_shape(y)}: give two tensors of one shape")
    z = torch.empty(x.numel(), dtype=x.dtype)
    arrays = {"x": x.reshape(-1), "y": y.reshape(-1), "z": z}
    run_on_host("vector_add", dtype, {"N": x.numel()}, arrays)
    return z.reshape(x.shape)


def _rows(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as the matrix of its rows."""
    if tensor.dim() == 0:
        raise UserError(f"{name} has no dimension: give a tensor with one at least")
    columns = tensor.shape[-1]
    return tensor.reshape(math.prod(tensor.shape[:-1]), columns)


def _shape(tensor: torch.Tensor) -> str:
    return str(tuple(tensor.shape))

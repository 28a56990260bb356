"""A decoder block of Liger-Kernel's operators, twenty times forward and backward.

`python decoder_block.py`
"""

from __future__ import annotations

import torch
from liger_kernel.transformers.functional import (
    liger_cross_entropy,
    liger_rms_norm,
    liger_rope,
    liger_swiglu,
)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOKENS, WIDTH, HEADS, HIDDEN, VOCABULARY = 128, 256, 4, 1024, 4096
STEPS = 20


def weight(rows: int, columns: int) -> torch.Tensor:
    return (torch.randn(rows, columns, device=DEVICE) * columns**-0.5).requires_grad_()


def attention(x: torch.Tensor, qkv: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    q, k, v = (x @ qkv.T).view(1, TOKENS, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
    angles = torch.arange(TOKENS, device=DEVICE)[:, None] / 10000 ** torch.linspace(
        0, 1, WIDTH // HEADS // 2, device=DEVICE
    )
    angles = torch.cat([angles, angles], -1)[None]
    q, k = liger_rope(q.contiguous(), k.contiguous(), angles.cos(), angles.sin())
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return mixed.transpose(1, 2).reshape(1, TOKENS, WIDTH) @ out.T


def main() -> None:
    torch.manual_seed(0)
    scales = [torch.ones(WIDTH, device=DEVICE, requires_grad=True) for _ in range(3)]
    qkv, out = weight(3 * WIDTH, WIDTH), weight(WIDTH, WIDTH)
    gate, up, down = weight(HIDDEN, WIDTH), weight(HIDDEN, WIDTH), weight(WIDTH, HIDDEN)
    head = weight(VOCABULARY, WIDTH)
    x = torch.randn(1, TOKENS, WIDTH, device=DEVICE)
    target = torch.randint(VOCABULARY, (TOKENS,), device=DEVICE)
    for _ in range(STEPS):
        y = x + attention(liger_rms_norm(x, scales[0], 1e-6), qkv, out)
        inner = liger_rms_norm(y, scales[1], 1e-6)
        y = y + liger_swiglu(inner @ gate.T, inner @ up.T) @ down.T
        logits = liger_rms_norm(y, scales[2], 1e-6)[0] @ head.T
        loss = liger_cross_entropy(logits, target)
        loss = loss[0] if isinstance(loss, tuple) else loss
        loss.backward()
    print(f"loss {float(loss):.5f}")
    for one in (qkv, gate, down, *scales):
        print(f"checksum {float(one.grad.abs().sum()):.5e}")


if __name__ == "__main__":
    main()

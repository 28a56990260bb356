"""Two layers of a transformer in torch, with FlagGems in place of torch's operators."""

from __future__ import annotations

import flag_gems
import torch
from torch import nn
from torch.nn.functional import silu


class Layer(nn.Module):
    def __init__(self, width: int = 256, heads: int = 4, hidden: int = 512) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.gate, self.up = nn.Linear(width, hidden), nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens, width = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(tokens, 3, self.heads, -1).permute(1, 2, 0, 3)
        weights = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, -1)
        x = x + self.out((weights @ v).transpose(0, 1).reshape(tokens, width))
        inner = self.norms[1](x)
        return x + self.down(silu(self.gate(inner)) * self.up(inner))


torch.manual_seed(0)
model = nn.Sequential(Layer(), Layer()).eval()
x = torch.randn(128, 256)
with torch.no_grad(), flag_gems.use_gems():
    for _ in range(3):
        y = model(x)
print(f"checksum {float(y.abs().sum()):.5e}")

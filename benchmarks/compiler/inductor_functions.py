"""The functions and models on which `torch.compile` is measured, with their inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

__all__ = ["FUNCTIONS", "MODELS", "Case"]


@dataclass(frozen=True)
class Case:
    """A function with its inputs.

    Args:
        size: of the largest input, as the table shows it.
        random: its result depends on random numbers, and `compare` looks at its mean only.
        dynamic: it is compiled for dynamic shapes.
    """

    name: str
    function: Callable[..., Any]
    inputs: Callable[[], tuple[Any, ...]]
    size: str
    random: bool = False
    dynamic: bool = False


def _floats(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype)


def _multiply_add_relu(x, y):
    return torch.relu(x * y + 1)


def _polynomial(x):
    return ((0.5 * x + 1.5) * x - 2.0) * x + 3.0


def _gelu_bias(x, bias):
    return F.gelu(x + bias)


def _gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def _swiglu(gate, up):
    return F.silu(gate) * up


def _lstm_gates(gates, cell):
    i, f, g, o = gates.chunk(4, dim=1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def _softplus_log(x):
    return torch.log(1 + torch.exp(-x.abs())) + x.clamp(min=0)


def _bf16_scale(x, scale):
    return (x * scale).sigmoid() * x


def _image_to_floats(image, mean, std):
    return (image.float() / 255 - mean[:, None, None]) / std[:, None, None]


def _masked_choice(x, mask):
    return torch.where(mask, x.clamp(-1, 1), x * 0.1)


def _add_transposed(x, y):
    return x + y.t()


def _cat_scaled(x, y):
    return torch.cat([x * 2, y + 1], dim=1)


def _rotary(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return x * cos + turned * sin


def _adam_step(weight, grad, mean, square):
    mean = mean * 0.9 + grad * 0.1
    square = square * 0.999 + grad * grad * 0.001
    weight = weight * 0.9999 - 1e-3 * mean / (square.sqrt() + 1e-8)
    return weight, mean, square


def _batch_norm_relu(x, mean, var, weight, bias):
    return F.relu(F.batch_norm(x, mean, var, weight, bias))


def _sum_all(x):
    return x.sum()


def _mean_square_error(x, y):
    return ((x - y) ** 2).mean()


def _softmax(x):
    return torch.softmax(x, dim=-1)


def _cross_entropy(logits, labels):
    return F.cross_entropy(logits, labels)


def _layer_norm(x, weight, bias):
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def _rms_norm(x, weight):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * weight


def _sum_rows(x):
    return x.sum(dim=0)


def _argmax(x):
    return x.argmax(dim=1)


def _std_of_rows(x):
    return x.std(dim=1)


def _cosine_similarity(x, y):
    return F.cosine_similarity(x, y, dim=1)


def _cumulative_sum(x):
    return x.cumsum(dim=1)


def _embedding(table, tokens, positions):
    return F.embedding(tokens, table) + positions


def _scatter_add(x, index, values):
    return x.index_add(0, index, values)


def _dropout(x):
    return F.dropout(x, 0.25, training=True) * 2


def _average_pool(x):
    return F.avg_pool2d(x, 3, stride=2, padding=1)


def _upsample(x):
    return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


def _lstm_inputs():
    return _floats(256, 4096), _floats(256, 1024)


def _rotary_inputs():
    return _floats(8, 16, 256, 64), _floats(256, 64), _floats(256, 64)


def _adam_inputs():
    return _floats(1 << 20), _floats(1 << 20), _floats(1 << 20), _floats(1 << 20).abs()


def _image_inputs():
    image = torch.randint(0, 256, (3, 512, 512), dtype=torch.uint8)
    return image, torch.rand(3), torch.rand(3) + 0.5


def _batch_norm_inputs():
    x = _floats(16, 64, 56, 56)
    return x, _floats(64), torch.rand(64) + 0.5, _floats(64), _floats(64)


def _embedding_inputs():
    return _floats(10000, 512), torch.randint(0, 10000, (8, 256)), _floats(256, 512)


def _scatter_inputs():
    return _floats(1000, 256), torch.randint(0, 1000, (4096,)), _floats(4096, 256)


FUNCTIONS = (
    Case("x * y + 1, relu", _multiply_add_relu, lambda: (_floats(10**4), _floats(10**4)), "1e4"),
    Case("x * y + 1, relu", _multiply_add_relu, lambda: (_floats(10**7), _floats(10**7)), "1e7"),
    Case("polynomial, fp64", _polynomial, lambda: (_floats(10**6, dtype=torch.float64),), "1e6"),
    Case("gelu of x + bias", _gelu_bias, lambda: (_floats(1024, 1000), _floats(1000)), "1024x1000"),
    Case("gelu (tanh)", _gelu_tanh, lambda: (_floats(10**6),), "1e6"),
    Case("swiglu", _swiglu, lambda: (_floats(512, 2048), _floats(512, 2048)), "512x2048"),
    Case("LSTM gates", _lstm_gates, _lstm_inputs, "256x4096"),
    Case("softplus", _softplus_log, lambda: (_floats(10**6),), "1e6"),
    Case(
        "x * sigmoid(x * scale), bf16",
        _bf16_scale,
        lambda: (_floats(1024, 1024, dtype=torch.bfloat16), _floats(1024, dtype=torch.bfloat16)),
        "1024x1024",
    ),
    Case("image bytes to floats", _image_to_floats, _image_inputs, "3x512x512"),
    Case("where, clamp", _masked_choice, lambda: (_floats(10**6), _floats(10**6) > 0), "1e6"),
    Case(
        "x + y transposed",
        _add_transposed,
        lambda: (_floats(1000, 1000), _floats(1000, 1000)),
        "1000x1000",
    ),
    Case("cat of two", _cat_scaled, lambda: (_floats(1000, 300), _floats(1000, 500)), "1000x800"),
    Case("rotary embedding", _rotary, _rotary_inputs, "8x16x256x64"),
    Case("Adam step", _adam_step, _adam_inputs, "1e6"),
    Case("batch norm, relu", _batch_norm_relu, _batch_norm_inputs, "16x64x56x56"),
    Case("sum to a scalar", _sum_all, lambda: (_floats(10**7),), "1e7"),
    Case("mean square error", _mean_square_error, lambda: (_floats(10**6), _floats(10**6)), "1e6"),
    Case("softmax", _softmax, lambda: (_floats(1024, 1000),), "1024x1000"),
    Case(
        "softmax, dynamic shapes", _softmax, lambda: (_floats(700, 513),), "700x513", dynamic=True
    ),
    Case(
        "cross entropy",
        _cross_entropy,
        lambda: (_floats(512, 8000), torch.randint(0, 8000, (512,))),
        "512x8000",
    ),
    Case(
        "layer norm",
        _layer_norm,
        lambda: (_floats(1024, 768), _floats(768), _floats(768)),
        "1024x768",
    ),
    Case("RMS norm", _rms_norm, lambda: (_floats(1024, 4096), _floats(4096)), "1024x4096"),
    Case("sum of rows", _sum_rows, lambda: (_floats(1024, 1000),), "1024x1000"),
    Case("argmax", _argmax, lambda: (_floats(1024, 1000),), "1024x1000"),
    Case("standard deviation", _std_of_rows, lambda: (_floats(1024, 1000),), "1024x1000"),
    Case(
        "cosine similarity",
        _cosine_similarity,
        lambda: (_floats(1024, 512), _floats(1024, 512)),
        "1024x512",
    ),
    Case("cumulative sum", _cumulative_sum, lambda: (_floats(512, 1000),), "512x1000"),
    Case("embedding, positions", _embedding, _embedding_inputs, "2048x512"),
    Case("index_add", _scatter_add, _scatter_inputs, "4096x256"),
    Case("dropout", _dropout, lambda: (_floats(10**6),), "1e6", random=True),
    Case("average pool 3x3", _average_pool, lambda: (_floats(8, 32, 57, 57),), "8x32x57x57"),
    Case("bilinear upsampling", _upsample, lambda: (_floats(8, 16, 32, 32),), "8x16x32x32"),
)


class _Mlp(torch.nn.Module):
    """Three layers with GELU and a residual, from 512 features to 512."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(512)
        self.up = torch.nn.Linear(512, 1024)
        self.middle = torch.nn.Linear(1024, 1024)
        self.down = torch.nn.Linear(1024, 512)

    def forward(self, x):
        y = F.gelu(self.up(self.norm(x)))
        y = F.gelu(self.middle(y))
        return x + self.down(y)


class _TransformerBlock(torch.nn.Module):
    """A pre-norm block: causal attention of 8 heads and a gated MLP, on 512 features."""

    def __init__(self) -> None:
        super().__init__()
        self.first_scale = torch.nn.Parameter(torch.ones(512))
        self.second_scale = torch.nn.Parameter(torch.ones(512))
        self.qkv = torch.nn.Linear(512, 1536, bias=False)
        self.out = torch.nn.Linear(512, 512, bias=False)
        self.gate = torch.nn.Linear(512, 1024, bias=False)
        self.up = torch.nn.Linear(512, 1024, bias=False)
        self.down = torch.nn.Linear(1024, 512, bias=False)

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        heads = self.qkv(_rms_norm(x, self.first_scale)).view(batch, length, 3, 8, 64)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        q, k = _rotary(q, cos, sin), _rotary(k, cos, sin)
        scores = q @ k.transpose(-1, -2) / 8
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        y = _rms_norm(x, self.second_scale)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class _ConvPointwise(torch.nn.Module):
    """What stands between the convolutions of a residual net: norms, activations, pools."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.BatchNorm2d(64)
        self.second = torch.nn.BatchNorm2d(64)
        self.scale = torch.nn.Linear(64, 64)

    def forward(self, x, shortcut):
        y = F.hardswish(self.first(x))
        weights = torch.sigmoid(self.scale(y.mean((2, 3))))
        y = F.relu(self.second(y * weights[:, :, None, None]) + shortcut)
        return F.max_pool2d(y, 3, stride=2, padding=1).mean((2, 3)).softmax(-1)


def _block_inputs():
    return _floats(2, 256, 512), _floats(256, 64), _floats(256, 64)


def _conv_inputs():
    return _floats(8, 64, 56, 56), _floats(8, 64, 56, 56)


MODELS = (
    Case("MLP", _Mlp().eval(), lambda: (_floats(512, 512),), "512x512"),
    Case("transformer block", _TransformerBlock().eval(), _block_inputs, "2x256x512"),
    Case(
        "convolution net without convolutions", _ConvPointwise().eval(), _conv_inputs, "8x64x56x56"
    ),
)

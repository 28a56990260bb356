"""Six programs of torch 2.13: two of its Triton kernels, and four that torch.compile makes."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from user import DEVICE, backward, main, program, randn

HALF, BRAIN = torch.float16, torch.bfloat16


def compiled(function: Any) -> Any:
    """The function by torch.compile, with Triton's kernels where there is no GPU too."""
    if DEVICE == "cpu":
        import triton_rvv.inductor

        triton_rvv.inductor.register()
    return torch.compile(function)


@program("torch", "_bmm_outer_product_kernel", "fp16")
def bmm_outer_product() -> Any:
    from torch._native.ops.bmm_outer_product.triton_kernels import bmm_outer_product

    return bmm_outer_product(randn(8, 256, 1, dtype=HALF), randn(8, 1, 512, dtype=HALF, seed=1))


@program("torch", "_sampled_addmm_kernel", "bf16")
def sampled_addmm() -> Any:
    from torch.sparse import _triton_ops

    blocks = torch.eye(16, device=DEVICE).repeat_interleave(32, 0).repeat_interleave(32, 1)
    sparse = blocks.to(BRAIN).to_sparse_bsr((32, 32))
    return _triton_ops.sampled_addmm(
        sparse, randn(512, 256, dtype=BRAIN), randn(256, 512, dtype=BRAIN, seed=1)
    ).values()


@program("torch", "silu_gate", "fp32")
def silu_gate() -> Any:
    return backward(
        compiled(lambda gate, up: F.silu(gate) * up), randn(256, 2048), randn(256, 2048, seed=1)
    )


@program("torch", "softmax", "fp16")
def softmax() -> Any:
    with torch.no_grad():
        return compiled(lambda x: torch.softmax(x * 0.125, -1))(randn(8, 128, 1024, dtype=HALF))


@program("torch", "layer_norm", "fp32")
def layer_norm() -> Any:
    return backward(
        compiled(lambda x, weight, bias: F.layer_norm(x, (1024,), weight, bias)),
        *(randn(256, 1024), randn(1024, seed=1), randn(1024, seed=2)),
    )


@program("torch", "huber_loss", "bf16")
def huber_loss() -> Any:
    return backward(
        compiled(F.huber_loss),
        *(randn(512, 1024, dtype=BRAIN), randn(512, 1024, dtype=BRAIN, seed=1)),
    )


if __name__ == "__main__":
    main()

"""Kernels of Liger-Kernel."""

import torch
import torch.nn.functional as F
from agreement import agree, randn

PACKAGE = "liger_kernel"


def test_rms_norm(load):
    ops = load("liger_kernel.ops.rms_norm")
    x, weight, upstream = randn(7, 300), randn(300, seed=1), randn(7, 300, seed=2)
    x.requires_grad_(), weight.requires_grad_()
    expected = F.rms_norm(x, (300,), weight, 1e-6)
    gradients = torch.autograd.grad(expected, (x, weight), upstream)
    result = ops.LigerRMSNormFunction.apply(x, weight, 1e-6)
    agree(result, expected)
    agree(torch.autograd.grad(result, (x, weight), upstream), gradients)

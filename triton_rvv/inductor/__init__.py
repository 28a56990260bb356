"""Lets `torch.compile` make Triton kernels for this machine's processor instead of C++."""

from triton_rvv.inductor.registration import register

__all__ = ["register"]

"""Triton kernels that can be tuned, one file each."""

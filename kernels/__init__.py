"""Tunable Triton kernels, one file each."""

"""Kernels as a program launched them: what was recorded of each launch, and its Problem."""

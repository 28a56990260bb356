"""Tuned kernels as a static library for RISC-V programs in C and C++."""

"""Kernels called from Python on an emulated RISC-V core, in QEMU, on this process's own memory."""

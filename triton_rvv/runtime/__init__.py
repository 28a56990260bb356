"""Runs compiled kernels: in this process, or on an emulated core in QEMU."""

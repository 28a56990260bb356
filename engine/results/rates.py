"""Throughput of a kernel from its time: operations and bytes per second."""

from __future__ import annotations

from kernels.spec import Problem

__all__ = ["gigabytes_per_s", "teraflops"]


def teraflops(problem: Problem, time_s: float) -> float | None:
    """10^12 arithmetic operations per second; None if the kernel does not state its operations."""
    if problem.spec.flops is None:
        return None
    return problem.spec.flops(problem) / time_s / 1e12


def gigabytes_per_s(problem: Problem, time_s: float) -> float:
    """10^9 bytes of inputs and outputs per second, each counted once."""
    return problem.spec.traffic_bytes(problem) / time_s / 1e9

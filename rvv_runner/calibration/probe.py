"""A probe of a full check: one micro-kernel, and on which cores it runs."""

from __future__ import annotations

from dataclasses import dataclass

from rvv_runner.calibration.micro_kernel import MicroKernel

__all__ = ["Probe"]


@dataclass(frozen=True)
class Probe:
    """One micro-kernel of a full check.

    Args:
        kernel: with its parameters.
        cores: that run it at once, each as a program of its own.
        what: one copy of the micro-kernel is, as in "12 cycles a line".
        in_registers: whether no memory is involved, so that all turns of the loop are alike.
    """

    kernel: MicroKernel
    cores: int = 1
    what: str = "line"
    in_registers: bool = False

    @property
    def name(self) -> str:
        """As the page has it."""
        return self.kernel.name

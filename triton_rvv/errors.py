"""What can go wrong between a kernel and its ELF."""

from __future__ import annotations

__all__ = ["CompileError", "DeviceAssertionError", "OutOfBoundsError"]


class CompileError(Exception):
    """A kernel that cannot be compiled; the message names the source line where it is known.

    Args:
        problem: what is wrong and what to do, in one sentence.
        line: "file:line" in the kernel's source, or the empty string.
    """

    def __init__(self, problem: str, line: str = "") -> None:
        super().__init__(f"{line}: {problem}" if line else problem)
        self.problem = problem
        self.line = line

    def at(self, line: str) -> CompileError:
        """The same error with a source line, unless it names one already."""
        return self if self.line or not line else CompileError(self.problem, line)


class DeviceAssertionError(AssertionError, RuntimeError):
    """A `tl.device_assert` that did not hold in a kernel called from Python.

    Triton's own targets raise a RuntimeError, which programs may catch.
    """


class OutOfBoundsError(IndexError):
    """An access to memory outside of the argument's, found by a kernel that was compiled to look.

    Neither it nor what its program would have done afterwards has happened.
    """

"""The C program around a kernel: reads its arguments, runs the grid, checks and times it."""

from launchers.arguments import STORAGE_TYPES, Argument

__all__ = ["STORAGE_TYPES", "Argument"]

"""Reads files of matrix sizes and of tuning results: YAML lists, a product M x N x K per entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.results.gemm_results import FIGURES, LAYOUTS
from engine.results.tune_gemm_keys import TUNE_GEMM_KEYS
from foundation.config import Config
from foundation.document import Entry, read_list
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from kernels.spec import OWN_OUTPUTS, Outputs, Problem

__all__ = [
    "SIZE_NAMES",
    "GemmEntry",
    "gemm_problem",
    "read_sizes",
]

SIZE_NAMES = ("M", "N", "K")


@dataclass(frozen=True)
class GemmEntry:
    """One product of a file.

    Args:
        problem: kernel, sizes and element type.
        config: the tuned configuration; None in a file of sizes.
        entry: its place in the file.
    """

    problem: Problem
    config: Config | None
    entry: Entry


def read_sizes(
    path: Path,
    kernel: str | None = None,
    dtype: str | None = None,
    default_of: Callable[[Problem], Config] = lambda problem: problem.default_config,
) -> list[GemmEntry]:
    """The products of a file of sizes, or of results.

    Args:
        path: of the file.
        kernel, dtype: override the entries; None for what an entry names, or else for `matmul` and
            the kernel's first element type.
        default_of: a configuration with the parameters that the entries' configurations have.

    Raises:
        UserError: for a file that is neither, with file, line and key.
    """
    entries = read_list(path, "matrix product")
    return [_gemm_entry(entry, kernel, dtype, default_of) for entry in entries]


def gemm_problem(
    kernel: str,
    shape: Mapping[str, int],
    dtype: str | None,
    outputs: Outputs = OWN_OUTPUTS,
    dimensions: Sequence[str] = SIZE_NAMES,
) -> Problem:
    """A kernel with exactly these dimensions, M, N and K among them, at one size.

    Raises:
        UserError: for any other kernel, and as `kernels.registry.make_problem` does.
    """
    spec = load_kernel(kernel)
    if set(spec.default_shape) != set(dimensions):
        *first, last = dimensions
        raise UserError(
            f"{spec.name} has the dimensions {', '.join(spec.default_shape)}, not "
            f"{', '.join(first)} and {last}: tune it with engine.tune"
        )
    return make_problem(spec, shape, dtype, outputs)


def _gemm_entry(
    entry: Entry,
    kernel: str | None,
    dtype: str | None,
    default_of: Callable[[Problem], Config],
) -> GemmEntry:
    shape = {name: entry.whole(name) for name in SIZE_NAMES if name in entry.keys}
    kernel = kernel or entry.text("kernel", "matmul")
    dtype = dtype or (entry.text("dtype") if "dtype" in entry.keys else None)
    problem = _problem(entry, kernel, shape, dtype)
    default = default_of(problem)
    known = (*SIZE_NAMES, *LAYOUTS, "kernel", "dtype", *default)
    entry.only((*known, *FIGURES, *(TUNE_GEMM_KEYS if "num_warps" in default else ())))
    for name in SIZE_NAMES:
        entry.whole(name)  # no default sizes here
    for name in LAYOUTS:
        if entry.text(name, "T") != "T":
            entry.fail(name, f"{name} is {entry.text(name)}: only row-major matrices (T) are tuned")
    return GemmEntry(problem, _config(entry, default), entry)


def _problem(entry: Entry, kernel: str, shape: Mapping[str, int], dtype: str | None) -> Problem:
    at_kernel = "kernel" if "kernel" in entry.keys else "M"
    for key, tried in ((at_kernel, None), ("dtype", dtype)):
        try:
            problem = gemm_problem(kernel, shape, tried)
        except UserError as error:
            entry.fail(key, str(error))
    return problem


def _config(entry: Entry, default: Config) -> Config | None:
    """The entry's configuration, with the parameters of the default; None in a file of sizes."""
    if not any(name in entry.keys for name in default):
        return None
    sizes = {name for name, value in default.items() if type(value) is int and value > 0}
    return Config(
        {name: entry.whole(name) if name in sizes else entry.scalar(name) for name in default}
    )

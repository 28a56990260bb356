"""A list of batch sizes, N and K to tune, as a YAML file: studies/*.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.jobs.gemm_files import gemm_problem
from foundation.document import Entry, read_document
from foundation.errors import UserError
from kernels.spec import OWN_OUTPUTS, Outputs, Problem

__all__ = ["ShapeGroup", "ShapeList", "read_shape_list"]

_KEYS = ("kernel", "tag", "dtype", "output_dtype", "atol", "rtol", "num_iters", "shapes")
_GROUP_KEYS = ("batch_sizes", "E", "N", "K")


@dataclass(frozen=True)
class ShapeGroup:
    """One weight matrix and the batch sizes that are multiplied with it.

    Args:
        problems: one per batch size, by ascending M.
        n, k: columns and rows of the weights.
        experts: number of such matrices in a mixture of experts; None for one.
    """

    problems: tuple[Problem, ...]
    n: int
    k: int
    experts: int | None = None

    def tag(self, tag: str) -> str:
        """The tag in its file's name: "A8W8_BLOCKSCALE-N=1024-K=1024"."""
        experts = "" if self.experts is None else f"-E={self.experts}"
        return f"{tag}{experts}-N={self.n}-K={self.k}"


@dataclass(frozen=True)
class ShapeList:
    """What a job tunes.

    Args:
        path: of the file.
        tag: part of the names of the result files.
        groups: of shapes.
        num_iters: timed runs of a configuration; None for the default.
    """

    path: Path
    tag: str
    groups: tuple[ShapeGroup, ...]
    num_iters: int | None

    @property
    def outputs(self) -> Outputs:
        """The type and tolerances required of every output."""
        return self.groups[0].problems[0].outputs


def read_shape_list(path: Path) -> ShapeList:
    """The job that a file defines; docs/reference/job_files.md describes the format.

    Raises:
        UserError: for an invalid file, with file, line and key.
    """
    document = read_document(path, "list of shapes").only(_KEYS)
    tag = document.text("tag")
    if not re.fullmatch(r"[\w.+-]+", tag):
        document.fail("tag", f"tag is {tag}, but is part of file names: use letters, digits and _")
    groups = [
        _group(document, entry.only(_GROUP_KEYS)) for entry in document.entries("shapes", "shape")
    ]
    for place, group in enumerate(groups):
        if any(group.tag("") == other.tag("") for other in groups[:place]):
            listed = group.tag("").removeprefix("-").replace("-", ", ")
            document.fail("shapes", f"{listed} is listed twice: join its lists")
    num_iters = document.whole("num_iters") if "num_iters" in document.keys else None
    return ShapeList(path, tag, tuple(groups), num_iters)


def _group(document: Entry, entry: Entry) -> ShapeGroup:
    n, k = entry.whole("N"), entry.whole("K")
    experts = entry.whole("E") if "E" in entry.keys else None
    weights = {"N": n, "K": k} if experts is None else {"E": experts, "N": n, "K": k}
    batch_sizes = sorted(set(entry.wholes("batch_sizes")))
    problems = tuple(_problem(document, {"M": m, **weights}) for m in batch_sizes)
    return ShapeGroup(problems, n, k, experts)


def _problem(document: Entry, shape: Mapping[str, int]) -> Problem:
    kernel = document.text("kernel")
    dtype, output_dtype = (
        document.text(key) if key in document.keys else None for key in ("dtype", "output_dtype")
    )
    outputs = Outputs(output_dtype, document.number("atol"), document.number("rtol"))
    steps = (("kernel", None, OWN_OUTPUTS), ("dtype", dtype, OWN_OUTPUTS))
    for key, tried_dtype, tried_outputs in (*steps, ("output_dtype", dtype, outputs)):
        try:
            problem = gemm_problem(kernel, shape, tried_dtype, tried_outputs, tuple(shape))
        except UserError as error:
            document.fail(key, str(error))
    return problem

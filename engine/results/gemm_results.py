"""Files of tuning results: YAML lists with one product M x N x K per entry, as tune_gemm's are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from engine.results.atomic_file import write_text_file
from engine.results.rates import gigabytes_per_s, teraflops
from engine.results.tune_gemm_keys import tune_gemm_keys
from engine.run.summary import Summary
from engine.study.stored_trial import StoredTrial
from kernels.spec import Problem

__all__ = ["FIGURES", "LAYOUTS", "result_record", "write_results"]

LAYOUTS = ("rowMajorA", "rowMajorB")
FIGURES = (
    "device",
    "time_us",
    "runs",
    "estimated",
    "tflops",
    "gb_per_s",
    "speedup",
    "tried",
    "max_abs_error",
    "elf_sha256",
)


def result_record(
    problem: Problem, device: str, summary: Summary, winner: StoredTrial
) -> dict[str, object]:
    """One product's entry in a file of results; unknown figures are left out.

    `time_us` is the median of `runs` timed runs, `tflops` 10^12 operations per second, and
    `gb_per_s` 10^9 bytes of A, B and C per second, each counted once.

    Args:
        problem: the product.
        device: what measured it, as studies name it.
        summary: of its study.
        winner: the trial whose configuration is written.
    """
    time_s = winner.time_s
    assert time_s is not None
    flops = teraflops(problem, time_s)
    speedup = summary.speedup(winner)
    record = {
        **problem.shape,
        **dict.fromkeys(LAYOUTS, "T"),
        "kernel": problem.spec.name,
        "dtype": problem.dtype,
        "device": device,
        **winner.config,
        **tune_gemm_keys(winner.config),
        "time_us": _rounded(time_s * 1e6),
        "runs": len(winner.times_s),
        "estimated": bool(winner.attributes.get("estimated")),
        "tflops": None if flops is None else _rounded(flops),
        "gb_per_s": _rounded(gigabytes_per_s(problem, time_s)),
        "speedup": None if speedup is None else _rounded(speedup),
        "tried": sum(summary.statuses.values()),
        "max_abs_error": winner.attributes.get("max_abs_error"),
        "elf_sha256": winner.attributes.get("elf_sha256"),
    }
    return {name: value for name, value in record.items() if value is not None}


def write_results(path: Path, records: Sequence[Mapping[str, object]]) -> None:
    """Write a file of results atomically, one entry per line.

    Raises:
        UserError: if it cannot be written.
    """
    text = yaml.safe_dump(
        [dict(record) for record in records],
        default_flow_style=None,
        sort_keys=False,
        width=float("inf"),
    )
    write_text_file(path, text)


def _rounded(value: float) -> float:
    """Six digits, more than any of these figures is accurate to."""
    return float(f"{value:.6g}")

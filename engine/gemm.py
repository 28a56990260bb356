"""Tune GEMMs by size: python -m engine.gemm -m 16 -n 16 -k 16, or sizes from a file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments.options import (
    add_search_arguments,
    add_storage_argument,
    add_work_arguments,
    jobs_advice,
    request_for,
)
from engine.arguments.problem import add_device_argument, add_space_argument, kernel_name
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    positive_integer,
    run_command,
)
from foundation.completion import completes
from foundation.errors import UserError
from foundation.printing import say
from kernels.registry import check_declared, kernel_names

if TYPE_CHECKING:
    from engine.jobs.gemm_files import GemmEntry
    from engine.run.request import TuningRequest
    from engine.run.tuning import TuningResult
    from foundation.config import Config
    from kernels.spec import Problem

__all__ = ["main"]

_PROG = "engine.gemm"
_DESCRIPTION = "Tunes GEMMs C = A @ B: finds the fastest configuration for each size."
_EPILOG = (
    "See docs/guides/jobs.md. Exit status: 0 if every size has a winner or passed the check, 1 if "
    "any did not, 2 for a mistake in the command or a file."
)
_RESULTS = Path("tuning_results.yaml")


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments or a file, or an unusable board.
    """
    arguments = _parse(argv)
    if arguments.compare_wo_tuning:
        return EXIT_FOUND if _check_results(arguments) else EXIT_NOTHING_VALID
    with jobs_advice(arguments):
        return EXIT_FOUND if _tune(arguments) else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    _add_size_arguments(parser)
    _add_file_arguments(parser)
    add_device_argument(parser)
    add_space_argument(parser)
    add_search_arguments(parser)
    add_storage_argument(parser)
    add_work_arguments(parser)
    arguments = parser.parse(argv)
    sizes = (arguments.m, arguments.n, arguments.k)
    if arguments.gemm_size_file is None and None in sizes:
        raise UserError("the sizes are missing: give -m, -n and -k, or --gemm_size_file")
    if arguments.gemm_size_file is not None and any(sizes):
        raise UserError("--gemm_size_file gives the sizes: leave out -m, -n and -k")
    if arguments.compare_wo_tuning and arguments.gemm_size_file is None:
        raise UserError("--compare_wo_tuning checks a results file: give it as --gemm_size_file")
    if all(sizes):
        shape = dict(zip("MNK", sizes, strict=True))
        check_declared(arguments.kernel or "matmul", shape, arguments.dtype)
    return arguments


def _add_size_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    for name, what in (
        ("m", "rows of A and C"),
        ("n", "columns of B and C"),
        ("k", "columns of A, rows of B: the reduction dimension"),
    ):
        add(f"-{name}", metavar=name.upper(), type=positive_integer, help=what)
    add("--gemm_size_file", metavar="YAML", type=Path, help="a list of sizes, or of results")
    kernel = add(
        "--kernel",
        metavar="KERNEL",
        type=kernel_name,
        help="the kernel to tune, with dimensions M, N and K (default: the file's, or matmul)",
    )
    completes(kernel, kernel_names)
    add("--dtype", metavar="TYPE", help="element type (default: the file's, or the kernel's first)")


def _add_file_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--tuning_results_file",
        metavar="YAML",
        type=Path,
        default=_RESULTS,
        help="file to write the results to (default: %(default)s)",
    )
    add(
        "--compare",
        action="store_true",
        help="print each winner's largest error against the reference",
    )
    add(
        "--compare_wo_tuning",
        action="store_true",
        help="do not tune: check the results in --gemm_size_file",
    )


def _tune(arguments: argparse.Namespace) -> bool:
    """Tune each size and write the results; return whether each has a winner."""
    # Ray, Triton and Optuna take seconds to import: --help and mistyped names do not wait for them.
    from engine.jobs.shapes import tune_each
    from engine.results.gemm_results import result_record, write_results

    requests = _requests(arguments)
    records: list[dict[str, object]] = []
    for result in tune_each(requests):
        winner = result.summary.winner
        if winner is None:
            say(_nothing_valid(result), flush=True)
            continue
        records.append(result_record(result.problem, result.device, result.summary, winner))
        write_results(arguments.tuning_results_file, records)
        say(_line(records[-1], result), flush=True)
        if arguments.compare:
            say(f"  checked: largest error {records[-1].get('max_abs_error')}", flush=True)
    if records:
        say(f"results: {arguments.tuning_results_file}")
    return len(records) == len(requests)


def _requests(arguments: argparse.Namespace) -> list[TuningRequest]:
    """A request for each size; all sizes are checked before the first is tuned."""
    from engine.jobs.gemm_files import gemm_problem

    if arguments.gemm_size_file is None:
        shape = {name.upper(): getattr(arguments, name) for name in "mnk"}
        problems = [gemm_problem(arguments.kernel or "matmul", shape, arguments.dtype)]
    else:
        problems = [entry.problem for entry in _entries(arguments)]
    chosen = (replace(problem, space_name=arguments.space) for problem in problems)
    return [request_for(problem, arguments) for problem in chosen]


def _entries(arguments: argparse.Namespace) -> list[GemmEntry]:
    from engine.jobs.gemm_files import read_sizes
    from engine.workers.devices import load_board

    info = load_board(arguments.device).info

    def default_of(problem: Problem) -> Config:
        return problem.space(info).default or problem.default_config

    return read_sizes(arguments.gemm_size_file, arguments.kernel, arguments.dtype, default_of)


def _line(record: dict[str, object], result: TuningResult) -> str:
    """One size's result as a readable line."""
    from engine.results.units import time_text

    winner = result.summary.winner
    assert winner is not None
    estimated = f" ({result.summary.estimate})" if record["estimated"] else ""
    figures = [f"{time_text(winner.time_s or 0.0)}{estimated}"]
    if "tflops" in record:
        figures.append(f"{record['tflops']} TFLOP/s")
    figures.append(f"{record['gb_per_s']} GB/s")
    if "speedup" in record:
        figures.append(f"{record['speedup']}x the default")
    return f"{_size_text(result)}: {', '.join(figures)}: {winner.config}"


def _nothing_valid(result: TuningResult) -> str:
    reasons = "; ".join(f"{what}: {why}" for what, why in result.summary.first_reasons.items())
    return f"{_size_text(result)}: no configuration was valid ({reasons or 'none was tried'})"


def _size_text(result: TuningResult) -> str:
    from foundation.shapes import shape_text

    return shape_text(result.problem.shape)


def _check_results(arguments: argparse.Namespace) -> bool:
    """Run each result's configuration once against the reference; return whether all pass."""
    from engine.jobs.config_checks import check_configs

    entries = _entries(arguments)
    for entry in entries:
        if entry.config is None:
            entry.entry.fail("M", "this size has no configuration: tune it first")
    wanted = [(entry.problem, entry.config) for entry in entries if entry.config is not None]
    passed = True
    for problem, measurement in check_configs(wanted, arguments.device, arguments.ray_address):
        sizes = ",".join(f"{name}={size}" for name, size in problem.shape.items())
        verdict = (
            f"largest error {measurement.max_abs_error:g}"
            if (measurement.max_abs_error is not None)
            else measurement.reason
        )
        say(f"{sizes}: {measurement.status}: {verdict}", flush=True)
        passed = passed and measurement.status == "correct"
    return passed


if __name__ == "__main__":
    run_command(main, _PROG)

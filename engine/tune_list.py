"""Tune a list of shapes: python -m engine.tune_list studies/LIST.yaml"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments.options import (
    add_search_arguments,
    add_storage_argument,
    add_work_arguments,
    jobs_advice,
    request_for,
)
from engine.arguments.problem import add_device_argument, add_space_argument
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    run_command,
)
from foundation.printing import say
from foundation.writable import check_writable

if TYPE_CHECKING:
    from engine.jobs.shape_list import ShapeGroup, ShapeList
    from engine.results.gemm_json import Buckets
    from engine.run.request import TuningRequest
    from engine.run.tuning import TuningResult
    from kernels.spec import Problem
    from rvv_runner.board import BoardInfo

__all__ = ["main"]

_PROG = "engine.tune_list"
_DESCRIPTION = "Tunes a list of GEMMs and writes the winners to a file that kernels read."
_EPILOG = (
    "See docs/guides/jobs.md. Exit status: 0 if every shape has a winner, 1 if any has none, 2 for "
    "a mistake in the command or the file."
)
_FOLDER = Path("studies", "configs")


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments or the file, or an unusable board.
    """
    arguments = _parse(argv)
    with jobs_advice(arguments):
        return EXIT_FOUND if _tune_list(arguments) else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add = parser.add_argument
    add("file", metavar="YAML", type=Path, help="the list of shapes")
    add(
        "--out",
        metavar="DIR",
        type=Path,
        default=_FOLDER,
        help="folder for the files that kernels read (default: %(default)s)",
    )
    add_device_argument(parser)
    add_space_argument(parser)
    add_search_arguments(parser)
    add_storage_argument(parser)
    add_work_arguments(parser)
    return parser.parse(argv)


def _tune_list(arguments: argparse.Namespace) -> bool:
    """Tune each group and write its file, then the default file.

    Returns:
        Whether each shape has a winner.
    """
    # Ray, Triton and Optuna take seconds to import: --help and mistyped names do not wait for them.
    from engine.jobs.config_files import write_default_file
    from engine.jobs.shape_list import read_shape_list
    from engine.workers.devices import load_board
    from engine.workers.ray_session import ray_session

    job = read_shape_list(arguments.file)
    check_writable(arguments.out)
    info = load_board(arguments.device).info
    say(f"Architecture: {_architecture(info)}")
    say(f"Total test configurations: {len(job.groups)}", flush=True)
    files: list[Buckets] = []
    complete = True
    with ray_session(arguments.jobs, arguments.ray_address):
        for group in job.groups:
            results = _tune_group(arguments, job, group)
            files += _write_group(arguments.out, info, job.tag, group, results)
            complete = complete and all(r.summary.succeeded for r in results)
            if any(result.ended.reason == "interrupted" for result in results):
                return False
    if files and job.groups[0].experts is None:
        say(f"default: {write_default_file(arguments.out, info, job.tag, files)}")
    return complete


def _architecture(info: BoardInfo) -> str:
    if info.gpu is not None:
        return f"{info.gpu.arch} ({info.gpu.name})"
    return f"{info.study_device} ({info.cpu}, vectors of {info.vlen_bits} bits)"


def _tune_group(
    arguments: argparse.Namespace, job: ShapeList, group: ShapeGroup
) -> list[TuningResult]:
    """The result of each batch size; ends early if the user stops a run."""
    from engine.jobs.shapes import tune_each

    tag = group.tag(job.tag)
    say(f"\nRunning {tag}...", flush=True)
    start_s = time.monotonic()
    results = []
    for result in tune_each([_request(arguments, job, problem) for problem in group.problems]):
        say(_line(result), flush=True)
        results.append(result)
    say(f"Tuning for {tag} took {time.monotonic() - start_s:.2f} seconds", flush=True)
    return results


def _request(arguments: argparse.Namespace, job: ShapeList, problem: Problem) -> TuningRequest:
    request = request_for(problem, arguments)
    return dataclasses.replace(
        request, repeats=job.num_iters, outputs=job.outputs, space=arguments.space
    )


def _line(result: TuningResult) -> str:
    """One batch size's result as a readable line."""
    from engine.results.units import time_text

    space = f"M={result.problem.shape['M']}: search space size {result.space_size}"
    winner = result.summary.winner
    if winner is None:
        return f"{space}, no configuration was valid"
    estimated = f" ({result.summary.estimate})" if result.summary.estimated else ""
    best = time_text(winner.time_s or 0.0)
    return f"{space}, best {best}{estimated}: {winner.config}"


def _write_group(
    folder: Path, info: BoardInfo, tag: str, group: ShapeGroup, results: Sequence[TuningResult]
) -> list[Buckets]:
    """Write the group's files and their provenance; return the winners, none without one."""
    from engine.jobs.config_files import write_group_files
    from engine.jobs.provenance import write_provenance
    from engine.results.gemm_json import buckets

    winners = {result.problem.shape["M"]: result.summary.winner for result in results}
    configs = {m: winner.config for m, winner in winners.items() if winner is not None}
    if not configs:
        return []
    paths, notes = write_group_files(folder, info, tag, group, configs)
    for path in paths:
        write_provenance(path, info, results)
        say(f"results: {path}", flush=True)
    for note in notes:
        say(note, flush=True)
    return [buckets(configs)]


if __name__ == "__main__":
    run_command(main, _PROG)

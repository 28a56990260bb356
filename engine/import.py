"""Start later searches from other programs' results: python -m engine.import FILE ..."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments.options import add_storage_argument
from engine.arguments.problem import kernel_name, shape_type
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    run_command,
)
from foundation.errors import UserError
from foundation.gpu_limits import gpu_kind
from foundation.printing import say
from foundation.shapes import distance

if TYPE_CHECKING:
    from engine.study.identity import StudyIdentity
    from engine.tables.table import Row, Table
    from foundation.config import Config
    from kernels.spec import Problem

__all__ = ["main"]

_PROG = "engine.import"
_DESCRIPTION = (
    "Stores results from Kernel Tuner's caches, and configurations from tables such as vLLM's, as "
    "studies, which warm-start later ones. Makes an emulated core from the file of a calibration "
    "or of a full check of a board."
)
_EPILOG = (
    "See docs/guides/tables.md, and docs/guides/calibrate.md for calibrations. Exit status: 0 if "
    "something new was stored, 1 if not, 2 for a mistake."
)

# A warm start tries no more of what has no times.
_MOST_SUGGESTIONS = 5


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError: for a mistake in the arguments, a file that is no table, an unusable storage.
    """
    arguments = _parse(argv)
    # Optuna takes seconds to import: --help does not wait for it.
    from engine.tables.registry import read_table
    from rvv_runner.calibrate import import_bundle
    from rvv_runner.calibration.bundle import read_bundle
    from rvv_runner.calibration.family_page import read_page
    from rvv_runner.full_check import checked_name, import_page

    # All files are read before anything is stored.
    pages = {path: page for path in arguments.files if (page := read_page(path)) is not None}
    bundles = [(path, read_bundle(path)) for path in arguments.files if path not in pages]
    paths = [path for path, bundle in bundles if bundle is None]
    found = [_by_problem(read_table(path), arguments) for path in paths]
    _check_names(
        [
            *(checked_name(page) for page in pages.values()),
            *(bundle.name for _, bundle in bundles if bundle is not None),
        ],
        arguments,
    )
    new = len(pages)
    for page in pages.values():
        import_page(page, arguments.write, arguments.like, say)
    for _, bundle in bundles:
        if bundle is not None:
            import_bundle(bundle, arguments.write, arguments.like, say)
            new += 1
    for path, by_problem in zip(paths, found, strict=True):
        source = f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
        for problem, rows in by_problem:
            new += _store(arguments.storage, problem, rows, by_problem, source)
    return EXIT_FOUND if new else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add = parser.add_argument
    add(
        "files",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="a cache, a table, or the file of a calibration or of a full check",
    )
    add(
        "--kernel",
        metavar="KERNEL",
        type=kernel_name,
        help="the kernel that the results are about (default: the file's)",
    )
    add(
        "--shape",
        metavar="M=256,...",
        type=shape_type,
        default={},
        help="sizes that the file lacks, or that replace the file's",
    )
    add("--dtype", metavar="TYPE", help="element type (default: the file's, or the kernel's first)")
    add("--write", metavar="NAME", help="name of the emulated core (default: the file's)")
    add(
        "--like",
        metavar="CORE",
        help="core that supplies what the file lacks, such as x60 (default: by the board's kind)",
    )
    add_storage_argument(parser)
    return parser.parse(argv)


def _check_names(own: Sequence[str], arguments: argparse.Namespace) -> None:
    """Check the names of the cores to be made, before the first is."""
    from rvv_runner.new_board_file import check_new_name

    if not own and (arguments.write or arguments.like):
        raise UserError("--write and --like are for bundles, and none was given: leave them out")
    names = [arguments.write or name for name in own]
    for number, name in enumerate(names):
        check_new_name(name)
        if name in names[:number]:
            raise UserError(f"two of the bundles would make {name}: import them one by one")


def _by_problem(table: Table, arguments: argparse.Namespace) -> list[tuple[Problem, list[Row]]]:
    """The usable rows of each problem.

    Raises:
        UserError: if there are none, or if they are about no problem of the tuner.
    """
    usable = [
        row
        for row in table.rows
        if row.config is not None and all(fault.kind != "invalid" for fault in row.faults)
    ]
    # Such as AITER's "any", which is for all sizes.
    usable = [row for row in usable if row.shape] or usable
    found: dict[str, tuple[Problem, list[Row]]] = {}
    for row in usable:
        problem = _problem(table, row, arguments)
        found.setdefault(problem.name, (problem, []))[1].append(row)
    if not found:
        raise UserError(f"{table.path} has no configuration that can be used: audit it")
    return list(found.values())


def _problem(table: Table, row: Row, arguments: argparse.Namespace) -> Problem:
    from engine.tables.kernel_tuner_cache import SIZE
    from kernels.registry import kernel_names, load_kernel, make_problem

    name = arguments.kernel or row.kernel
    if arguments.kernel is None and name not in kernel_names():
        about = f"is about {name}, which is no kernel here" if name else "does not name its kernel"
        raise UserError(f"{table.path} {about}: name one with --kernel")
    spec = load_kernel(name)
    sizes: Mapping[str, int] = row.shape
    if any(size.startswith(SIZE) for size in sizes):
        fit = len(sizes) == len(spec.default_shape)
        sizes = dict(zip(spec.default_shape, sizes.values(), strict=True)) if fit else {}
    sizes = {**sizes, **arguments.shape}
    lacking = [size for size in spec.default_shape if size not in sizes]
    if lacking:
        raise UserError(
            f"{table.path} does not say {' and '.join(lacking)} of {spec.name}: give --shape "
            f"{','.join(f'{size}=...' for size in lacking)}"
        )
    problem = make_problem(spec, sizes, arguments.dtype or row.dtype or None)
    lacking = [name for name in problem.default_config if name not in (row.config or {})]
    if lacking:
        raise UserError(
            f"{table.path} has no {' and no '.join(lacking)}, by which {spec.name} is tuned: give "
            "the parameters these names, or name another --kernel"
        )
    return problem


def _store(
    storage: str,
    problem: Problem,
    rows: Sequence[Row],
    every: Sequence[tuple[Problem, Sequence[Row]]],
    source: str,
) -> bool:
    """Store what is known of one problem; whether it is new."""
    from engine.study.imported import store_imported, store_suggestions

    identity = _identity(problem, rows[0], source)
    timed = [(_config(problem, row), row.time_s) for row in rows]
    if sum(time_s is not None for _, time_s in timed) > 1:
        stored = store_imported(storage, identity, timed)
        what = f"{len(timed)} configurations with times"
    else:
        configs = _nearest_first(problem, every)
        stored = store_suggestions(storage, identity, configs)
        what = f"{len(configs)} configuration{'s' if len(configs) > 1 else ''} without times"
    say(f"{identity.name}: {what if stored else 'already there'}")
    return stored is not None


def _identity(problem: Problem, row: Row, source: str) -> StudyIdentity:
    from engine.study.imported import imported_identity

    board = row.wants.get("gpu") or row.wants.get("arch") or "unknown"
    kind = board if ":" in board else gpu_kind(board)
    return imported_identity(problem.spec.name, problem.shape, problem.dtype, kind, source)


def _config(problem: Problem, row: Row) -> Config:
    """Its configuration, with the values that another program's kernel leaves no choice in."""
    from engine.results.vllm_files import IMPLIED, SCALED_PRODUCT
    from foundation.config import Config

    assert row.config is not None
    implied = IMPLIED if problem.spec.name == SCALED_PRODUCT else {}
    return Config({**implied, **row.config})


def _nearest_first(
    problem: Problem, every: Sequence[tuple[Problem, Sequence[Row]]]
) -> list[Config]:
    """A table's configurations, those of the nearest problems first."""
    ordered = sorted(every, key=lambda entry: distance(problem.shape, entry[0].shape))
    configs = dict.fromkeys(_config(other, row) for other, rows in ordered for row in rows)
    return list(configs)[:_MOST_SUGGESTIONS]


if __name__ == "__main__":
    run_command(main, _PROG)

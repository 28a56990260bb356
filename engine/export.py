"""Write studies for other programs: python -m engine.export [STUDY ...] [--format NAME]"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from engine.arguments.options import add_storage_argument, completes_studies
from engine.arguments.studies import add_study_device_argument, studies_of
from engine.results.exports import format_module, format_names
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    one_of,
    run_command,
)
from foundation.completion import completes
from foundation.errors import UserError
from foundation.printing import say
from foundation.writable import check_writable

if TYPE_CHECKING:
    from engine.study.trials import StoredTrials

__all__ = ["main"]

_PROG = "engine.export"
_DESCRIPTION = (
    "Writes studies in the format of another program: each to a folder of its own, or, where the "
    "format has one file for several shapes, all together."
)
_EPILOG = "Exit status: 0 if a file was written, 1 if there was nothing to write, 2 for a mistake."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError: for a mistake in the arguments, an unreadable storage or an unwritable folder.
    """
    arguments = _parse(argv)
    check_writable(arguments.out)
    # Optuna and pandas take seconds to import: --help does not wait for them.
    from engine.results.progress import progress_on
    from engine.run.events import StageStarted

    chosen = _chosen(arguments)
    module = format_module(arguments.format)
    lines: list[str] = []  # of what is written, also before something fails
    try:
        with progress_on(sys.stderr) as listener:
            listener(StageStarted(f"writing {arguments.format}"))
            if hasattr(module, "write"):
                written = _apart(module, chosen, arguments)
            else:  # a C library takes a minute
                written = _together(
                    module, chosen, arguments, lambda stage: listener(StageStarted(stage))
                )
            lines.extend(written)
    except OSError as error:
        raise UserError(
            f"{arguments.out} cannot be written ({error.strerror}): give another folder with --out"
        ) from error
    finally:
        for line in lines:
            say(line)
    _say_ties(chosen)
    return EXIT_FOUND if lines else EXIT_NOTHING_VALID


def _say_ties(studies: Sequence[StoredTrials]) -> None:
    """Say on stderr where the default is to be used, and is what formats of one winner get."""
    from engine.results.advice import advice
    from engine.run.stored_summary import stored_summary

    for study in studies:
        trials = study.trials_of(study.study_name)
        summary = stored_summary(study, [trial for trial in trials if trial.has_outcome])
        if summary.to_use is not summary.winner:
            say(f"{study.study_name}: {advice(summary)}", file=sys.stderr)


def _chosen(arguments: argparse.Namespace) -> list[StoredTrials]:
    """The studies to write; a sentence on stderr where the storage has none."""
    from engine.study.storage import read_studies, study_named

    if arguments.studies:
        named = (study_named(arguments.storage, name) for name in arguments.studies)
        chosen = [*{one.study_name: one for one in named}.values()]  # two parts may name one
    else:
        chosen = read_studies(arguments.storage)
        if not chosen:
            say(f"{arguments.storage} holds no study: tune one first", file=sys.stderr)
    return studies_of(chosen, arguments.device) if arguments.device else chosen


def _apart(
    module: ModuleType, studies: Sequence[StoredTrials], arguments: argparse.Namespace
) -> Iterator[str]:
    """Write each study to a folder of its own; a line for each that had something to write."""
    from engine.study.location import file_stem

    for study in studies:
        folder, line = arguments.out / file_stem(study.study_name), ""
        with _left_out_if_unfit(arguments):
            line = _write_one(module, study, folder, arguments.format)
        if line:
            yield f"{folder}: {line}"


def _write_one(module: ModuleType, study: StoredTrials, folder: Path, name: str) -> str:
    """Write a study to a folder, which is there afterwards only if something is in it."""
    from engine.results.tuned_shape import UnfitStudyError

    folder.mkdir(parents=True, exist_ok=True)
    try:
        line: str = module.write(study, folder)
    finally:
        if not any(folder.iterdir()):
            folder.rmdir()
    if not line:
        raise UnfitStudyError(
            f"{study.study_name} has no trial that {name} has a place for: tune it first"
        )
    return line


def _together(
    module: ModuleType,
    studies: Sequence[StoredTrials],
    arguments: argparse.Namespace,
    tell: Callable[[str], None],
) -> Iterator[str]:
    """Write all studies to the format's folder; a line for each file."""
    entries = []
    for study in studies:
        with _left_out_if_unfit(arguments):
            entries.append(module.entry_of(study))
    if not arguments.studies and hasattr(module, "fitting"):
        entries, left_out = module.fitting(entries)
        for reason in left_out:
            say(f"left out: {reason}", file=sys.stderr)
    if entries:
        yield from module.write_entries(entries, arguments.out / arguments.format, tell)


def _format_name(text: str) -> str:
    """The name of a format; tune_gemm and others are written with either of the two signs."""
    return one_of("format", format_names)(text.replace("_", "-"))


@contextlib.contextmanager
def _left_out_if_unfit(arguments: argparse.Namespace) -> Iterator[None]:
    """Within the block, a study that does not fit is reported, if it was not asked for by name."""
    from engine.results.tuned_shape import UnfitStudyError

    try:
        yield
    except UnfitStudyError as error:
        if arguments.studies:
            raise
        say(f"left out: {error}", file=sys.stderr)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add = parser.add_argument
    completes_studies(add("studies", metavar="STUDY", nargs="*", help="a study (default: all)"))
    format_argument = add(
        "--format",
        metavar="NAME",
        type=_format_name,
        default="csv",
        help=f"{', '.join(format_names())} (default: %(default)s)",
    )
    completes(format_argument, format_names)
    add_study_device_argument(parser)
    add_storage_argument(parser)
    add(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("studies/exports"),
        help="the folder in which each study, or a format of several studies, gets a folder of its "
        "own, such as DIR/c (default: %(default)s)",
    )
    return parser.parse(argv)


if __name__ == "__main__":
    run_command(main, _PROG)

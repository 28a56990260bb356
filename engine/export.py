"""Write studies as tables for other programs: python -m engine.export [--out DIR]"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from engine.arguments.options import add_storage_argument
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    percentage,
    run_command,
)

__all__ = ["main"]

_PROG = "engine.export"
_DESCRIPTION = (
    "Writes DIR/STUDY/trials.csv, with every trial's configuration, time and counters, and "
    "DIR/STUDY/high_correlations.csv, the counters that correlate with run time."
)
_EPILOG = "Exit status: 0 if a table was written, 1 if there was nothing to write, 2 for a mistake."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError: for a mistake in the arguments or an unreadable storage.
    """
    arguments = _parse(argv)
    # Optuna and pandas take seconds to import: --help does not wait for them.
    from engine.results.trials_table import correlations, trials_table
    from engine.study.storage import read_studies, study_named

    if arguments.study is None:
        chosen = read_studies(arguments.storage)
    else:
        chosen = [study_named(arguments.storage, arguments.study)]
    written = 0
    for stored in chosen:
        table = trials_table(list(stored.changes()))
        if table.empty:
            continue
        folder = arguments.out / stored.study_name.replace("/", "_")
        folder.mkdir(parents=True, exist_ok=True)
        table.to_csv(folder / "trials.csv", index=False)
        related = correlations(table)
        high = related[related["correlation"].abs() > arguments.above]
        high.to_csv(folder / "high_correlations.csv", index=False)
        found = f"{len(high)} of {len(related)} counters correlate with run time"
        print(f"{folder}: {len(table)} trials, {found}")
        written += 1
    return EXIT_FOUND if written else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add_storage_argument(parser)
    parser.add_argument("--study", metavar="NAME", help="export only this study (default: all)")
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("studies/exports"),
        help="folder to write the tables to (default: %(default)s)",
    )
    parser.add_argument(
        "--above",
        metavar="PERCENT",
        type=percentage,
        default="70",
        help="the absolute Pearson correlation that counts as high (default: %(default)s)",
    )
    return parser.parse(argv)


if __name__ == "__main__":
    run_command(main, _PROG)

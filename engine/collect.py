"""Add results measured by hand to their study: python -m engine.collect DIR."""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    run_command,
)
from foundation.errors import UserError
from rvv_runner.devices import known_board
from rvv_runner.measurement import OUTCOMES

if TYPE_CHECKING:
    from engine.search import Search
    from rvv_runner.measurement import Status

__all__ = ["main"]

_PROG = "engine.collect"
_DESCRIPTION = "Adds the measurements of run_perf.py on a board to the study."
_EPILOG = "Exit status: 0 if there were results, 1 if there were none, 2 for a mistake."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a folder that cannot be collected.
    """
    return EXIT_FOUND if _collect(_parse(argv)) else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "folder", metavar="DIR", type=Path, help="the folder that engine.build created"
    )
    return parser.parse(argv)


def _collect(arguments: argparse.Namespace) -> bool:
    """Store the rows in the study; return whether there were any."""
    from engine.by_hand.perf_table import read_rows
    from engine.results.units import time_text

    run = arguments.folder / "run"
    search, board = _open_search(arguments.folder)
    configs = json.loads((run / "configs.json").read_text(encoding="utf-8"))
    variants = {
        (Path(variant["elf_path"]).name, variant["sha256"]): variant
        for variant in configs["variants"]
    }
    try:
        rows = read_rows(run / configs["perf_files"]["stat"])
    except ValueError as error:
        raise UserError(f"{error}: copy the folder perf from the board again") from error
    outcomes: Counter[str] = Counter()
    for row in rows:
        variant = variants.get((row["ELF Name"], row["ELF SHA256"]))
        if variant is None:
            outcomes["ignored: the executable is not in this folder"] += 1
            continue
        config = {name: variant[name] for name in configs["parameters"]}
        outcomes[_take(search, config, row, board)] += 1
    for outcome, count in outcomes.items():
        print(f"{count} {outcome}")
    best = search.best()
    if best is not None:
        print(f"best of the study: {time_text(best[1])}: {best[0]}")
    return bool(outcomes)


def _open_search(folder: Path) -> tuple[Search, str]:
    """The study that the folder was built for, and the name of the board."""
    # Triton and Optuna take seconds to import: --help and mistyped names do not wait for them.
    from engine.by_hand.study_file import read_study_file
    from engine.run.identity import identity_of
    from engine.search import Search
    from engine.study.storage import open_study
    from kernels.registry import load_kernel, make_problem

    kept = read_study_file(folder)
    problem = make_problem(load_kernel(kept.kernel), kept.shape, kept.dtype)
    info = known_board(kept.board).info(kept.board)
    identity = identity_of(problem, info, kept.sampler)
    if dict(identity.made_with) != dict(kept.made_with):
        raise UserError(
            f"the executables in {folder} were made with another compiler, kernel source or board "
            "model than today's, so their times cannot be compared: build the folder again"
        )
    space = problem.space(info)
    stored = open_study(kept.storage, identity, space, kept.study)
    return Search(space, kept.sampler, trials=stored), kept.board


def _take(search: Search, config: Mapping[str, object], row: Mapping[str, str], board: str) -> str:
    """Tell the study about a row; return what was done with it, in words."""
    status = row["Status"]
    times_s = [float(time_s) for time_s in row["Kernel Times (s)"].split()]
    checked = row["Valid Output"] == "YES" and all(0 < time_s < math.inf for time_s in times_s)
    if status not in OUTCOMES or (status == "correct" and not (times_s and checked)):
        return f"ignored: the board was at fault or the output was not checked ({status})"
    if not search.take(config):
        return "already in the study"
    search.tell(
        config,
        float(row["Kernel Time (s)"]) if status == "correct" else None,
        status=cast("Status", status),
        attributes=_attributes(row, times_s, board),
    )
    return f"added: {status}"


def _attributes(row: Mapping[str, str], times_s: Sequence[float], board: str) -> dict[str, object]:
    """What is stored with a trial besides its time; an empty counter is absent."""
    from engine.by_hand.perf_table import COUNTED, RECORDED

    attributes: dict[str, object] = {
        "board": f"{board} (by hand)",
        "elf_sha256": row["ELF SHA256"],
        "times_s": list(times_s),
        "counters": {name: float(row[name]) for name in (*COUNTED, *RECORDED) if row[name]},
        "reason": row["Reason"],
        "max_abs_error": float(row["Max Abs Error"]) if row["Max Abs Error"] else None,
    }
    return {name: value for name, value in attributes.items() if value not in ("", None, {}, [])}


if __name__ == "__main__":
    run_command(main, _PROG)

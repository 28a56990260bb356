"""Check tables of tuned configurations: python -m engine.audit FILE ... [--device cuda]"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments.options import add_storage_argument
from engine.arguments.problem import device_name
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    positive_integer,
    run_command,
)
from foundation.gpu_limits import gpu_kind
from foundation.printing import say

if TYPE_CHECKING:
    from engine.tables.findings import Comparison, Finding
    from engine.tables.table import Fault, Row, Table
    from foundation.config import Config

__all__ = ["main"]

_PROG = "engine.audit"
_DESCRIPTION = (
    "Lists the rows of tuned tables that are never hit on a GPU, were tuned with another Triton, "
    "are no better than the default, are duplicates, or are shadowed by others."
)
_EPILOG = "Exit status: 0 if nothing is wrong, 1 if something is, 2 for a mistake in the command."
_MOST_FAULTS = 40
_MOST_PLACES = 4


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError: for a mistake in the arguments, and a file that is no table.
    """
    arguments = _parse(argv)
    # Optuna takes seconds to import: --help does not wait for it.
    from engine.tables.findings import findings
    from engine.tables.registry import read_table

    tables = [read_table(path) for path in arguments.files]
    device = _device(arguments)
    measured = _measured(arguments.storage, device)
    found = 0
    for table in tables:
        wrong = findings(table, device, measured)
        _print(table, wrong)
        found += len(wrong)
    if not device:
        say("no device was given: what a lookup asks for there was not compared (--device)")
    return EXIT_NOTHING_VALID if found else EXIT_FOUND


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", type=Path, help="a table; see docs/guides/tables.md")
    add("--device", metavar="NAME", type=device_name, help="a GPU of this machine: cuda, hip:1")
    add("--gpu", metavar="NAME", help="another GPU, as its driver names it: 'NVIDIA H200'")
    add("--gfx", metavar="ARCH", help="its architecture: gfx942, sm_90")
    add("--cu-num", metavar="N", type=positive_integer, help="its compute units")
    add("--triton", metavar="VERSION", help="the version of Triton that is used there")
    add_storage_argument(parser)
    return parser.parse(argv)


def _device(arguments: argparse.Namespace) -> dict[str, str]:
    """What a lookup on the device asks for, as far as it is known."""
    known: dict[str, str] = {}
    if arguments.device is not None:
        from engine.workers.devices import load_board
        from engine.workers.toolchain import toolchain_versions
        from foundation.errors import UserError

        info = load_board(arguments.device).info
        if info.gpu is None:
            raise UserError(
                f"{arguments.device} is no GPU, and these tables are for GPUs: name one"
            )
        gpu = info.gpu
        known = {"gpu": gpu.name, "arch": gpu.arch, "units": str(gpu.multiprocessors)}
        known["triton"] = toolchain_versions(info.backend)["triton"]
    given = {
        "gpu": arguments.gpu,
        "arch": arguments.gfx,
        "units": None if arguments.cu_num is None else str(arguments.cu_num),
        "triton": arguments.triton,
    }
    return {**known, **{name: value for name, value in given.items() if value is not None}}


def _measured(storage: str, device: Mapping[str, str]) -> Callable[[Row], Comparison | None]:
    """What the studies of a storage know of a row on the GPU that it is for."""
    from engine.tables.findings import Comparison
    from engine.winners.stored import stored_studies

    studies = stored_studies(storage)

    def compared(row: Row) -> Comparison | None:
        gpu = row.wants.get("gpu") or device.get("gpu")
        for study in studies:
            if row.config is None or (study.kernel, study.dtype) != (row.kernel, row.dtype):
                continue
            if not row.shape.items() <= study.shape.items():
                continue
            if gpu is not None and study.device != gpu_kind(gpu):
                continue
            timed = [(trial, trial.time_s) for trial in study.outcomes if trial.time_s]
            default_s = next((time_s for t, time_s in timed if "wall_s" in t.attributes), None)
            tried_s = next((time_s for t, time_s in timed if _agree(row.config, t.config)), None)
            if default_s is not None and tried_s is not None:
                return Comparison(study.name, tried_s, default_s)
        return None

    return compared


def _agree(written: Config, tried: Config) -> bool:
    """Whether a trial has every value of a row that it has a parameter for."""
    shared = [name for name in written if name in tried]
    return bool(shared) and all(tried[name] == written[name] for name in shared)


def _print(table: Table, wrong: Sequence[Finding]) -> None:
    from rich.box import SIMPLE
    from rich.table import Table as Grid

    from foundation.console import EscapingConsole

    count = len(table.rows)
    say(f"{table.path}: {table.format}, {count} row{'s' if count > 1 else ''}")
    if not wrong:
        say("nothing wrong")
        return
    alike: dict[Fault, list[str]] = {}
    for finding in wrong:
        alike.setdefault(finding.fault, []).append(finding.row.place)
    grid = Grid(box=SIMPLE)
    for heading in ("rows", "are", "since"):
        grid.add_column(heading, overflow="fold")
    for fault, places in sorted(alike.items(), key=lambda item: -len(item[1]))[:_MOST_FAULTS]:
        grid.add_row(_places(places), fault.kind, fault.why)
    EscapingConsole(markup=False, emoji=False, highlight=False).print(grid)
    if len(alike) > _MOST_FAULTS:
        say(f"and {len(alike) - _MOST_FAULTS} more kinds of faults")
    counts = Counter(finding.fault.kind for finding in wrong)
    say(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))


def _places(places: Sequence[str]) -> str:
    """The first places, and how many there are."""
    shown = ", ".join(places[:_MOST_PLACES])
    return (
        shown if len(places) <= _MOST_PLACES else f"{shown} and {len(places) - _MOST_PLACES} more"
    )


if __name__ == "__main__":
    run_command(main, _PROG)

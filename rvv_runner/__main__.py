"""Commands for boards: trust HOST, check DEVICE, calibrate, core FOLDER, stat -- ELF ARGS, qemu."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    positive_integer,
    run_command,
)
from foundation.errors import UserError
from foundation.printing import say
from foundation.programs import python_command
from foundation.writable import check_writable
from rvv_runner.devices import DEFAULT_DEVICE
from triton_rvv.targets.target import SUPPORTED_VLEN_BITS

__all__ = ["main"]

_PROG = "rvv_runner"
_DESCRIPTION = (
    "Prepares boards over SSH for measurements, measures and describes cores to be emulated, "
    "counts what a program does on a board, and builds the QEMU that emulated boards need."
)
_EPILOG = (
    "Exit status: 0 if all is well, 1 if a board is not ready, 2 for a mistake in the command. "
    "`stat` ends with the status of the program that it ran."
)


def main(argv: Sequence[str] | None) -> int:
    """Run the command; the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments, or an unreachable board.
    """
    arguments = _parse(argv)
    if arguments.command == "stat":
        from rvv_runner.stat import stat

        return stat(arguments.device, _program(arguments.words))
    if arguments.command == "qemu":
        return _build_qemu()
    if getattr(arguments, "out", None) is not None:
        check_writable(arguments.out.parent)
    # paramiko is slow to import, and --help does not need it.
    if arguments.command == "trust":
        from rvv_runner.trust import trust

        return EXIT_FOUND if trust(arguments.host, sys.stdin, sys.stdout) else EXIT_NOTHING_VALID
    if arguments.command == "core":
        return _write_core(arguments)
    if arguments.command == "calibrate":
        from rvv_runner.calibrate import calibrate

        calibrate(arguments.device, arguments.write, arguments.out, arguments.like, say)
        return EXIT_FOUND
    from rvv_runner.check import check

    if not check(arguments.device, arguments.write, say):
        return EXIT_NOTHING_VALID
    if arguments.full:
        from rvv_runner.full_check import full_check

        full_check(arguments.write or arguments.device, arguments.core, arguments.out, say)
    return EXIT_FOUND


def _build_qemu() -> int:
    from rvv_runner.emulated.build_qemu import build_qemu

    say(f"QEMU with plug-ins: {build_qemu(say)}")
    return EXIT_FOUND


def _write_core(arguments: argparse.Namespace) -> int:
    from rvv_runner.cores.core import core_from_pages
    from rvv_runner.cores.emulated_file import CoreFacts
    from rvv_runner.devices import emulated_board_file
    from rvv_runner.new_board_file import check_new_name, write_text

    check_new_name(arguments.write)
    facts = CoreFacts(**{name: getattr(arguments, name) for name in CoreFacts.__annotations__})
    like = emulated_board_file(arguments.like)
    text = core_from_pages(arguments.pages, facts, like)
    say(f"written: {write_text(arguments.write, text)}")
    say(f"next: {python_command('engine.tune')} KERNEL --device emulated:{arguments.write}")
    return EXIT_FOUND


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    summary = "show a board's host key, and trust it from now on"
    trust = commands.add_parser("trust", help=summary, description=summary)
    trust.add_argument("host", metavar="HOST", help="as in ssh://user@host:22, or a name")
    _add_check(commands)
    _add_stat(commands)
    _add_calibrate(commands)
    _add_core(commands)
    summary = "build a QEMU that takes plug-ins, where the system's does not"
    commands.add_parser("qemu", help=summary, description=summary)
    return parser.parse(argv)


def _add_check(commands: argparse._SubParsersAction[ArgumentParser]) -> None:
    summary = "check whether a board is ready to measure, and print how to mend what is not"
    check = commands.add_parser("check", help=summary, description=summary)
    check.add_argument(
        "device",
        metavar="DEVICE",
        help="ssh://user@host, the name or path of a board file, or an emulated core",
    )
    check.add_argument("--write", metavar="NAME", help="write a board file of this name")
    check.add_argument(
        "--full",
        action="store_true",
        help="also measure where the models of the emulated boards differ, print the nearest "
        "model, and make an emulated core without the models that are ruled out",
    )
    check.add_argument(
        "--core", metavar="NAME", help="with --full: of that core (default: DEVICE-checked)"
    )
    check.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="with --full: for what was measured (default: the core's name with .check.json)",
    )


def _add_stat(commands: argparse._SubParsersAction[ArgumentParser]) -> None:
    summary = "run a program for riscv64 and count what it does, like perf stat"
    stat = commands.add_parser(
        "stat",
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}. On an emulated board it runs in this "
        "folder with an empty environment, and times and cycles are estimates; to a board over SSH "
        "only the program is sent, which has ten minutes there.",
    )
    stat.add_argument(
        "--device",
        metavar="NAME",
        default=DEFAULT_DEVICE,
        help="an emulated board or one over SSH (default: %(default)s)",
    )
    stat.add_argument(
        "words", metavar="ELF ARGS", nargs=argparse.REMAINDER, help="after --, what to run"
    )


def _add_calibrate(commands: argparse._SubParsersAction[ArgumentParser]) -> None:
    summary = "measure a core with micro-kernels, and write its cost table, to be emulated"
    calibrate = commands.add_parser("calibrate", help=summary, description=summary)
    calibrate.add_argument(
        "--device",
        metavar="DEVICE",
        default=DEFAULT_DEVICE,
        help="a board over SSH, or an emulated core (default: %(default)s)",
    )
    calibrate.add_argument(
        "--write", metavar="NAME", help="for --device emulated:NAME (default: DEVICE-measured)"
    )
    calibrate.add_argument(
        "--out", metavar="FILE", type=Path, help="all readings (default: NAME.calibration.json)"
    )
    calibrate.add_argument(
        "--like",
        metavar="CORE",
        help="for what cannot be measured (default: x60, or x100 if work overlaps)",
    )


def _add_core(commands: argparse._SubParsersAction[ArgumentParser]) -> None:
    summary = "write the board file of a core from its page of rvv-bench-results, to be emulated"
    core = commands.add_parser("core", help=summary, description=summary)
    core.add_argument("pages", metavar="FOLDER", type=Path, help="such as spacemit_x100")
    core.add_argument("--write", metavar="NAME", required=True, help="for --device emulated:NAME")
    core.add_argument("--like", metavar="CORE", default="x60", help="for what the page lacks")
    core.add_argument(
        "--vlen-bits", metavar="BITS", type=int, choices=SUPPORTED_VLEN_BITS, required=True
    )
    core.add_argument("--frequency-hz", metavar="HZ", type=positive_integer, required=True)
    core.add_argument("--cores", metavar="NUMBER", type=positive_integer, default=1)
    core.add_argument("--l1d-bytes", metavar="BYTES", type=positive_integer, default=32 << 10)
    core.add_argument("--l2-bytes", metavar="BYTES", type=positive_integer, default=512 << 10)


def _program(words: Sequence[str]) -> Sequence[str]:
    """The program and its arguments, without the -- in front of them."""
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        raise UserError(f"ELF is missing: see `{invocation(_PROG)} stat --help`")
    return words


if __name__ == "__main__":
    run_command(main, _PROG)

"""All commands under one name: python -m engine, or rvv-tune."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from foundation.command_line import (
    EXIT_FOUND,
    ArgumentParser,
    invocation,
    invoked_as,
    one_of,
    run_command,
)
from foundation.completion import completed_words, completes, enter_subcommand
from foundation.interrupts import SCRIPT
from foundation.version import project_version

__all__ = ["COMMANDS", "Command", "main", "start"]


@dataclass(frozen=True)
class Command:
    """A subcommand.

    Args:
        module: has `main`, a function from the arguments to the exit status.
        summary: one line.
        words: passed to `main` before the arguments.
    """

    module: str
    summary: str
    words: tuple[str, ...] = ()


# A new command is one line here, and its module's name in the contracts of pyproject.toml.
COMMANDS = {
    "tune": Command("engine.tune", "find the fastest configuration of a kernel"),
    "measure": Command("engine.measure", "build, check and measure one configuration"),
    "kernels": Command("engine.kernels", "list the kernels, or compare them at one shape"),
    "space": Command("engine.space", "show a kernel's search space and its pruning rules"),
    "gemm": Command("engine.gemm", "tune GEMMs by size"),
    "tune-list": Command("engine.tune_list", "tune a list of shapes from a YAML file"),
    "tune-all": Command("engine.tune_all", "tune every kernel at its default shape"),
    "capture": Command("engine.capture", "record the kernels that a program launches"),
    "tasks": Command("engine.tasks", "list the kernels that a program launched"),
    "run": Command("engine.apply", "run a program with the winners of its kernels"),
    "find": Command("engine.find", "look up the stored winner for a shape"),
    "check-key": Command("engine.check_key", "measure the cost of the power-of-two key"),
    "regret": Command("engine.regret", "measure how much slower each board's winner is elsewhere"),
    "report": Command("engine.report", "show a study, or compare two, as one HTML page"),
    "explain": Command("engine.explain", "show why a study's winner won, by cause and by line"),
    "export": Command("engine.export", "write studies as CSV, or for other programs"),
    "import": Command("engine.import", "start later searches from other programs' results"),
    "audit": Command("engine.audit", "check tables of tuned configurations"),
    "build": Command("engine.build", "build configurations to measure by hand"),
    "collect": Command("engine.collect", "add results measured by hand to their study"),
    "bench": Command("engine.bench", "compare searches on recorded spaces"),
    "repair": Command("engine.repair", "copy the intact part of a damaged journal"),
    "new": Command("engine.new", "write the file of a new kernel"),
    "boards": Command("rvv_runner.__main__", "trust, check or calibrate a board; count events"),
    "compile": Command("triton_rvv.__main__", "compile a kernel to IR and assembly", ("compile",)),
}

_PROG = "engine"
_DESCRIPTION = "Tunes Triton kernels for RISC-V Vector boards, CPUs and GPUs."


def start() -> NoReturn:
    """The console script."""
    with invoked_as(SCRIPT):
        run_command(main, SCRIPT)


def main(argv: Sequence[str] | None) -> int:
    """Run a command, or list all commands; return the exit status.

    Raises:
        CommandError: for a mistake in the arguments, or what the command raises.
    """
    given = sys.argv[1:] if argv is None else list(argv)
    if any(word in COMMANDS for word in completed_words()[:1]):
        given = completed_words()[:1]
        enter_subcommand()
    if given and given[0] in COMMANDS:
        return _run(given[0], given[1:])
    parser = _parser()
    parser.parse(given[:1])
    parser.print_help()
    return EXIT_FOUND


def _run(name: str, arguments: Sequence[str]) -> int:
    command = COMMANDS[name]
    with invoked_as(f"{invocation(_PROG)} {name}"):
        # Only the chosen command is imported.
        run: Callable[[Sequence[str]], int] = importlib.import_module(command.module).main
        return run([*command.words, *arguments])


def _parser() -> ArgumentParser:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items()]
    parser = ArgumentParser(invocation(_PROG), "\n".join([_DESCRIPTION, "", "commands:", *lines]))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "%(prog)s COMMAND ..."
    parser.add_argument("--version", action="version", version=project_version())
    command = parser.add_argument(
        "command",
        metavar="COMMAND",
        nargs="?",
        type=one_of("command", _names),
        help="one of these; see COMMAND --help",
    )
    completes(command, _names)
    return parser


def _names() -> list[str]:
    return list(COMMANDS)


if __name__ == "__main__":
    run_command(main, _PROG)

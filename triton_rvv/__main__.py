"""Compile a kernel to files that people read: python -m triton_rvv compile FILE KERNEL ..."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from foundation.command_line import invocation
from triton_rvv.compile_command import Mistake, compile_to_files, read_target
from triton_rvv.errors import CompileError

__all__ = ["main"]

_DESCRIPTION = """Compiles a Triton kernel and writes NAME.ttir, NAME.llir, NAME.s and NAME.o. The
assembly shows the kernel's source lines, as comments."""
_EPILOG = "Exit status: 0 if it compiles, 1 if not, 2 for a mistake in the command."


class _Parser(argparse.ArgumentParser):
    """One sentence for a mistake, without the usage above it."""

    def error(self, message: str) -> NoReturn:
        raise Mistake(f"{message} (see {_started_as()} --help)")


def _started_as() -> str:
    return invocation("triton_rvv compile")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    try:
        arguments = _parse(argv)
        written = compile_to_files(
            arguments.file,
            arguments.kernel,
            arguments.signature,
            arguments.constants,
            read_target(arguments.target),
            arguments.out,
            arguments.disjoint,
            arguments.print_after,
            arguments.print_changed,
            arguments.skip_pass,
        )
    except Mistake as mistake:
        print(f"triton_rvv: {mistake}", file=sys.stderr)
        return 2
    except CompileError as error:
        print(f"triton_rvv: {error}", file=sys.stderr)
        return 1
    for path in written:
        print(path)
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="python -m triton_rvv", description="A Triton back end.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    compiler = commands.add_parser(
        "compile",
        prog=_started_as(),
        help="compile a kernel",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    _add_kernel_arguments(compiler)
    _add_pass_arguments(compiler)
    compiler.add_argument(
        "--out", type=Path, default=Path(), metavar="DIR", help="the current folder by default"
    )
    return parser.parse_args(argv)


def _add_kernel_arguments(compiler: argparse.ArgumentParser) -> None:
    compiler.add_argument("file", metavar="FILE", type=Path, help="a Python file with the kernel")
    compiler.add_argument("kernel", metavar="KERNEL", help="the name of a @triton.jit function")
    compiler.add_argument(
        "--signature",
        required=True,
        metavar="TYPES",
        help="types of the arguments that are not constant, in order: '*fp32,*fp32,i32'",
    )
    compiler.add_argument(
        "--constants",
        default="",
        metavar="NAME=VALUE,...",
        help="values of all constexprs, and of other constant arguments: BLOCK=64,stride=1",
    )
    compiler.add_argument(
        "--target",
        default="rvv256",
        help="rvv128, rvv256 (the default), rvv512 or rvv1024, by the vector length; a core or "
        "profile such as x60 or rva23:128; or host",
    )
    compiler.add_argument(
        "--disjoint",
        action="store_true",
        help="make faster code, which is right only if no two pointer arguments share memory",
    )


def _add_pass_arguments(compiler: argparse.ArgumentParser) -> None:
    compiler.add_argument(
        "--print-after",
        action="append",
        default=[],
        metavar="PASS",
        help="print the IR after a pass; `parse` is the IR before all passes, and `write-code` the "
        "one after them, with how each operation's code was written; may be given several times",
    )
    compiler.add_argument(
        "--print-changed",
        action="store_true",
        help="print what each pass changes in the IR, and what the pass is for",
    )
    compiler.add_argument(
        "--skip-pass",
        action="append",
        default=[],
        metavar="PASS",
        help="leave out a pass, or a rule by which code is written, to find the one that makes "
        "code wrong or slow; code is right without any of them; may be given several times",
    )


if __name__ == "__main__":
    sys.exit(main())

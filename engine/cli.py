"""What the commands share: their arguments' types, and a mistake as one sentence and status 2."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from engine.errors import UserError, nearest
from kernels.registry import is_kernel_file, kernel_names
from rvv_runner.board import BoardError
from rvv_runner.devices import DEFAULT_DEVICE, board_names, check_device_name
from search_spaces.config import Config, ParameterValue

__all__ = [
    "EXIT_FOUND",
    "EXIT_MISTAKE",
    "EXIT_NOTHING_VALID",
    "ArgumentParser",
    "add_device_argument",
    "add_kernel_arguments",
    "add_problem_arguments",
    "complete_config",
    "config_type",
    "device_name",
    "device_names",
    "host_and_port",
    "kernel_name",
    "one_of",
    "percentage",
    "positive_number",
    "positive_whole_number",
    "run_command",
    "shape_type",
    "whole_number",
]

EXIT_FOUND = 0
EXIT_NOTHING_VALID = 1
EXIT_MISTAKE = 2


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors are UserErrors of one sentence."""

    def __init__(self, prog: str, description: str, epilog: str | None = None) -> None:
        super().__init__(prog=prog, description=description, epilog=epilog, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Called by argparse for every mistake."""
        unknown = re.match(r"unrecognized arguments: (\S+)", message)
        if unknown:
            option = unknown[1].split("=")[0]
            raise UserError(f"there is no argument {option}: {nearest(option, self._options())}")
        message = message.removeprefix("argument ").rstrip(".")
        if message.startswith("the following arguments are required: "):
            missing = message.partition(": ")[2]
            raise UserError(f"{missing} is missing: see `python -m {self.prog} --help`")
        raise UserError(message)

    def _options(self) -> list[str]:
        return [name for name in self._option_string_actions if name.startswith("--")]


def run_command(command: Callable[[Sequence[str] | None], int], prog: str) -> NoReturn:
    """Run a command on the process's arguments and end the process with its status.

    A mistake by the user is one sentence on stderr and status 2, Ctrl-C a sentence and status 1.
    """
    try:
        status = command(None)
    except (UserError, BoardError) as error:
        print(f"{prog}: {error}", file=sys.stderr)
        status = EXIT_MISTAKE
    except BrokenPipeError:  # whoever read the output has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = EXIT_NOTHING_VALID
    except KeyboardInterrupt:
        print(f"{prog}: stopped before anything was measured", file=sys.stderr)
        status = EXIT_NOTHING_VALID
    sys.exit(status)


def add_problem_arguments(
    parser: ArgumentParser, *, kernel_optional: bool = False, several_shapes: bool = False
) -> None:
    """The arguments that say what is run, and how results are printed."""
    add_kernel_arguments(parser, optional=kernel_optional, several_shapes=several_shapes)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object on stdout, and nothing else"
    )


def add_kernel_arguments(
    parser: ArgumentParser, *, optional: bool = False, several_shapes: bool = False
) -> None:
    """The arguments that say what is run.

    The kernel is None where it is optional and not given; the shape is a list where there may be
    several.
    """
    again = "; given again, another study begins with what the last one found"
    parser.add_argument(
        "kernel",
        metavar="KERNEL",
        nargs="?" if optional else None,
        type=kernel_name,
        help=f"one of {', '.join(kernel_names())}, or the path of a Python file",
    )
    parser.add_argument(
        "--shape",
        metavar="M=256,...",
        type=shape_type,
        action="append" if several_shapes else "store",
        default=[] if several_shapes else {},
        help="sizes of the problem; those not given keep the kernel's default"
        f"{again if several_shapes else ''}",
    )
    parser.add_argument(
        "--dtype", metavar="TYPE", help="element type, such as f32 (default: the kernel's first)"
    )


def add_device_argument(parser: ArgumentParser, *, several: bool = False) -> None:
    """The argument that says where it is run; a tuple of names where there may be several."""
    parser.add_argument(
        "--device",
        metavar="NAME,..." if several else "NAME",
        type=device_names if several else device_name,
        default=DEFAULT_DEVICE,
        help=f"the board{'s' if several else ''}: one of {', '.join(board_names())}, "
        f"ssh://USER@HOST, or the path of a board file"
        f"{'; several with commas between them' if several else ''} (default: %(default)s)",
    )


def kernel_name(text: str) -> str:
    """The name of a kernel or the path of a file with one, for argparse."""
    if is_kernel_file(text):
        return text
    return one_of("kernel", kernel_names)(text)


def shape_type(text: str) -> dict[str, int]:
    """The sizes in "M=256,N=512", in the order of writing.

    Raises:
        argparse.ArgumentTypeError: for anything else.
    """
    sizes = {}
    for name, value in _pairs(text, "M=256,N=512"):
        if not re.fullmatch(r"[+-]?\d+", value):
            raise argparse.ArgumentTypeError(f"the size of {name} is not a whole number: {value}")
        sizes[name] = int(value)
    return sizes


def config_type(text: str) -> dict[str, ParameterValue]:
    """The values in "BLOCK_SIZE_M=16,USE_X=true", in the order of writing.

    Raises:
        argparse.ArgumentTypeError: for text that is not a list of names and values.
    """
    return {name: _value(value) for name, value in _pairs(text, "BLOCK_SIZE_M=16,BLOCK_SIZE_N=32")}


def complete_config(given: Mapping[str, ParameterValue], default: Config, kernel: str) -> Config:
    """`given` with the default's value for each parameter that it leaves out.

    Raises:
        UserError: for a parameter that the kernel does not have, or a value that is no size where
            the default is one.
    """
    for name, value in given.items():
        if name not in default:
            raise UserError(f"{kernel} has no parameter {name}: {nearest(name, default)}")
        if type(default[name]) is int and (type(value) is not int or value < 1):
            raise UserError(f"{name} takes a whole number above 0, and {value} is none")
    return Config({**default, **given})


def device_name(text: str) -> str:
    """The name of a device, for argparse.

    Raises:
        BoardError: for one that means nothing.
    """
    check_device_name(text)
    return text


def device_names(text: str) -> tuple[str, ...]:
    """The names of one or more devices with commas between them, for argparse.

    Raises:
        BoardError: for one that means nothing.
    """
    return tuple(device_name(name.strip()) for name in text.split(","))


def host_and_port(text: str) -> str:
    """An address as HOST:PORT, for argparse."""
    if not re.fullmatch(r"[^:/\s]+:\d{1,5}", text) or int(text.rpartition(":")[2]) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not HOST:PORT")
    return text


def positive_whole_number(text: str) -> int:
    """An integer of at least 1, for argparse."""
    if not re.fullmatch(r"\+?\d+", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return int(text)


def whole_number(text: str) -> int:
    """An integer, for argparse."""
    if not re.fullmatch(r"[+-]?\d+", text):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number")
    return int(text)


def positive_number(text: str) -> float:
    """A finite number above 0, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value


def percentage(text: str) -> float:
    """A number of percent from 0, as a fraction, for argparse: "5" is 0.05."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of percent")
    return value / 100


def one_of(what: str, names: Callable[[], list[str]]) -> Callable[[str], str]:
    """A type for argparse that takes one of `names()` and refuses others with the nearest."""

    def parse(text: str) -> str:
        if text not in names():
            raise UserError(f"there is no {what} named {text}: {nearest(text, names())}")
        return text

    return parse


def _pairs(text: str, example: str) -> list[tuple[str, str]]:
    pairs: dict[str, str] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not (name and equals and value):
            raise argparse.ArgumentTypeError(f"'{item}' is not NAME=VALUE: write it like {example}")
        if name in pairs:
            raise argparse.ArgumentTypeError(f"{name} is given twice")
        pairs[name] = value
    return list(pairs.items())


def _value(text: str) -> ParameterValue:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

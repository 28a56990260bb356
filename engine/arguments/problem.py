"""Arguments that several commands share: the kernel, its problem, the board."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from engine.workers.devices import (
    board_names,
    check_device_name,
    check_usage,
    every_device,
    machine_of,
    on_cores,
    timed,
)
from foundation.command_line import ArgumentParser, one_of, positive_integer
from foundation.completion import completes
from foundation.errors import UserError, near_file
from foundation.processors import cores
from foundation.programs import MAKE_CAPTURE
from gpu_runner.names import TIMINGS
from kernels.captured.names import is_capture, is_captured
from kernels.own.kernel_path import split_path
from kernels.registry import check_declared, is_captured_task, is_kernel_file, kernel_names
from rvv_runner.board import BoardError
from rvv_runner.devices import DEFAULT_DEVICE
from rvv_runner.usage import cores_text, named_cores
from search_spaces.registry import space_names

__all__ = [
    "ALL_TYPES",
    "add_device_argument",
    "add_kernel_arguments",
    "add_kernels_arguments",
    "add_own_kernel_argument",
    "add_problem_arguments",
    "add_space_argument",
    "core_counts",
    "device_name",
    "device_names",
    "kernel_name",
    "named_values",
    "shape_type",
]


ALL_TYPES = "all"  # as an element type of several kernels: each that one of them has
_SEVERAL_DEVICES = (
    "; several are separated by commas, and NAME@MACHINE is reached from a machine of --ray-address"
)


def add_problem_arguments(
    parser: ArgumentParser,
    *,
    kernel_optional: bool = False,
    several_shapes: bool = False,
    captures: bool = False,
) -> None:
    """Add the arguments for what to run, and how to print results."""
    add_kernel_arguments(
        parser, optional=kernel_optional, several_shapes=several_shapes, captures=captures
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object on stdout, and nothing else"
    )


def add_kernel_arguments(
    parser: ArgumentParser,
    *,
    optional: bool = False,
    several_shapes: bool = False,
    captures: bool = False,
) -> None:
    """Add the arguments for what to run.

    The kernel is None if it is optional and not given; the shape is a list if there may be several.
    With `captures`, the kernel may be the file of a captured program.
    """
    again = "; repeat it for more studies, each warm-started from the nearest one so far"
    kernel = parser.add_argument(
        "kernel",
        metavar="KERNEL",
        nargs="?" if optional else None,
        type=kernel_name_or_capture if captures else kernel_name,
        help=f"one of {', '.join(kernel_names())}, or the path of a Python file; "
        "FILE.py:KERNEL for one of several kernels in a file"
        f"{'; or a capture file, for all kernels of a program' if captures else ''}",
    )
    completes(kernel, kernel_names)
    parser.add_argument(
        "--shape",
        metavar="M=256,...",
        type=shape_type,
        action="append" if several_shapes else "store",
        default=[] if several_shapes else {},
        help="sizes of the problem; those left out keep the kernel's default"
        f"{again if several_shapes else ''}",
    )
    parser.add_argument(
        "--dtype", metavar="TYPE", help="element type, such as f32 (default: the kernel's first)"
    )
    parser.finish_with(_check_problem)


def add_kernels_arguments(parser: ArgumentParser, kernels: str, shape: str, dtype: str) -> None:
    """Add several kernels, with one shape and one element type for all of them.

    Args:
        parser: of the command.
        kernels, shape, dtype: what the command's help says of each.
    """
    names = parser.add_argument(
        "kernels", metavar="KERNEL", type=kernel_name, nargs="*", help=kernels
    )
    completes(names, kernel_names)
    parser.add_argument("--shape", metavar="M=256,...", type=shape_type, default={}, help=shape)
    parser.add_argument("--dtype", metavar="TYPE", help=dtype)
    parser.finish_with(_check_kernels)


def _check_kernels(arguments: argparse.Namespace) -> None:
    """Refuse a shape or a type that one of several kernels does not have, before slow imports."""
    dtype = None if arguments.dtype == ALL_TYPES else arguments.dtype
    for kernel in arguments.kernels:
        check_declared(kernel, arguments.shape, dtype)


def _check_problem(arguments: argparse.Namespace) -> None:
    """Refuse sizes and types that the kernel does not have, before slow imports."""
    if arguments.kernel is None or is_capture(arguments.kernel):
        return
    given = arguments.shape
    for shape in given or [{}] if isinstance(given, list) else [given]:
        check_declared(arguments.kernel, shape, arguments.dtype)


def add_device_argument(parser: ArgumentParser, *, several: bool = False) -> None:
    """Add the argument for where to run; a tuple of names if there may be several."""
    device = parser.add_argument(
        "--device",
        metavar="NAME,..." if several else "NAME",
        type=device_names if several else device_name,
        default=DEFAULT_DEVICE,
        help=f"the board{'s' if several else ''}: one of {', '.join(board_names())}, "
        f"ssh://USER@HOST, or the path of a board file"
        f"{_SEVERAL_DEVICES if several else ''} (default: %(default)s)",
    )
    completes(device, board_names)
    parser.add_argument(
        "--timing",
        choices=TIMINGS,
        help="how kernels are timed: with caches flushed before each run (cold, the default on a "
        "GPU), without flushing (warm, the default elsewhere), or on a GPU in a CUDA graph, which "
        "leaves out the cost of launches (graph)",
    )
    parser.add_argument(
        "--cores",
        metavar="N,..." if several else "N",
        type=core_counts if several else _one_count,
        default=(),
        help="number of cores that run a kernel at once"
        f"{'; several numbers are taken one after another' if several else ''} (default: 1, and "
        "all of this machine's for a capture on the host)",
    )
    parser.finish_with(_apply_usage)


def _apply_usage(arguments: argparse.Namespace) -> None:
    """Let the device's name say how kernels are timed, and on how many cores they run."""
    given = arguments.device
    names = (given,) if isinstance(given, str) else tuple(given)
    if arguments.timing is not None:
        names = tuple(timed(name, arguments.timing) for name in names)
    if arguments.cores:
        for name in names:
            _check_cores_in(name, arguments.cores)
        names = tuple(on_cores(name, count) for count in arguments.cores for name in names)
    else:
        names = on_default_cores(names, getattr(arguments, "kernel", None))
    for name in names:
        check_usage(name)
    arguments.device = names[0] if isinstance(given, str) else names


def on_default_cores(names: Sequence[str], kernel: str | None) -> tuple[str, ...]:
    """The devices' names where no number of cores is given: one core, if a name says no other.

    A program that was captured runs its kernels on all cores of this machine, so what is tuned for
    this machine runs on all of them too.

    Args:
        names: of the devices.
        kernel: its name; None where it is of no matter.
    """
    host = ("host", timed("host", "warm"), timed("host", "cold"))
    if kernel is not None and any(name in host for name in names) and is_captured(kernel):
        names = [on_cores(name, cores()) if name in host else name for name in names]
    return tuple(on_cores(name, 1) if named_cores(name) == 1 else name for name in names)


def _check_cores_in(name: str, counts: Sequence[int]) -> None:
    """Refuse --cores beside a device's name that says another number.

    Raises:
        UserError: naming both.
    """
    board, _ = machine_of(name)
    said = named_cores(board)
    if said is not None and counts != (said,):
        given = ",".join(map(str, counts))
        raise UserError(
            f"{name} is on {cores_text(said)} and --cores says {given}: leave out one of them"
        )


def add_space_argument(parser: ArgumentParser) -> None:
    """Add the argument for which of several search spaces to search."""
    parser.add_argument(
        "--space",
        choices=space_names(),
        default="",
        help="on a GPU: search the space of another tuner, for its kernel (default: the kernel's)",
    )


def add_own_kernel_argument(parser: ArgumentParser) -> None:
    """Add the argument for the file of a stored study's kernel."""
    parser.add_argument(
        "--kernel",
        metavar="FILE",
        type=kernel_name,
        help="the file of a kernel of your own (default: where it was when it was tuned)",
    )


def core_counts(text: str) -> tuple[int, ...]:
    """The numbers of cores in "1,4,8", for argparse.

    Raises:
        argparse.ArgumentTypeError: for anything else, or a number that is given twice.
    """
    counts = tuple(positive_integer(part.strip()) for part in text.split(","))
    if len(set(counts)) < len(counts):
        raise argparse.ArgumentTypeError(f"{text} has a number twice: give each once")
    return counts


def _one_count(text: str) -> tuple[int, ...]:
    return (positive_integer(text),)


def kernel_name(text: str) -> str:
    """The name of a kernel or the path of a file with one, for argparse."""
    if text in kernel_names():  # there may be a folder of that name
        return text
    if is_captured_task(text):
        return text
    if is_capture(text):
        raise UserError(f"{text} is a capture: name one of its tasks, as {text}#KEY, or tune it")
    path = Path(text)
    if not split_path(text)[0].exists() and (near := near_file(path, "*.capture")):
        raise UserError(f"there is no file {text}: did you mean {near}?")
    if path.suffix == ".capture" and not path.exists():
        raise UserError(f"there is no file {text}: {MAKE_CAPTURE}")
    if path.is_dir() or (path.is_file() and path.suffix != ".py"):
        what = "a folder" if path.is_dir() else "no Python file"
        raise UserError(f"{text} is {what}: give the path of a Python file with a kernel")
    if is_kernel_file(text):
        file, _ = split_path(text)
        if not file.exists():
            near = near_file(file, "*.py")
            advice = "give the path of a Python file with a kernel"
            raise UserError(
                f"there is no file {file}: {f'did you mean {near}?' if near else advice}"
            )
        return text
    return one_of("kernel", kernel_names)(text)


def kernel_name_or_capture(text: str) -> str:
    """The same, or the path of a capture's file, for argparse."""
    return text if is_capture(text) else kernel_name(text)


def shape_type(text: str) -> dict[str, int]:
    """The sizes in "M=256,N=512", in the order written.

    Raises:
        argparse.ArgumentTypeError: for anything else.
    """
    sizes = {}
    for name, value in named_values(text, "M=256,N=512"):
        if not re.fullmatch(r"[+-]?\d+", value):
            raise argparse.ArgumentTypeError(f"the size of {name} is not an integer: {value}")
        sizes[name] = int(value)
    return sizes


def device_name(text: str) -> str:
    """The name of a device, for argparse.

    Raises:
        BoardError: for an unknown name.
    """
    check_device_name(text)
    names = every_device(text)
    if len(names) > 1:
        raise BoardError(f"{text} stands for {len(names)} boards: name one, such as {names[0]}")
    return names[0]


def device_names(text: str) -> tuple[str, ...]:
    """The names of one or more devices, separated by commas, for argparse.

    Raises:
        argparse.ArgumentTypeError: if one of them is empty.
        BoardError: for an unknown name.
    """
    given = [name.strip() for name in text.split(",")]
    if not all(given):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME or NAME,NAME: leave no name out")
    for name in given:
        check_device_name(name)
    return tuple(each for name in given for each in every_device(name))


def named_values(text: str, example: str) -> list[tuple[str, str]]:
    """The pairs in "NAME=VALUE,...", in the order written.

    Args:
        text: what was given.
        example: how it is to be written.

    Raises:
        argparse.ArgumentTypeError: for other text, and for a name that is given twice.
    """
    pairs: dict[str, str] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not (name and equals and value):
            raise argparse.ArgumentTypeError(f"'{item}' is not NAME=VALUE: write it like {example}")
        if name in pairs:
            raise argparse.ArgumentTypeError(f"{name} is given twice")
        pairs[name] = value
    return list(pairs.items())

"""The argument for the program that a study is tuned for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from engine.results.consumers import CONSUMERS, consumer_named
from foundation.command_line import ArgumentParser, one_of
from foundation.completion import completes
from foundation.errors import UserError
from gpu_runner.names import gpu_name
from kernels.registry import dtype_name

__all__ = ["add_consumer_argument", "consumer_option", "for_consumer"]


def add_consumer_argument(parser: ArgumentParser) -> None:
    """Add the argument for whose kernel to tune for; it sets `space` and `dtype`."""
    action = parser.add_argument(
        "--for",
        metavar="NAME",
        dest="consumer",
        type=consumer_option,
        help="on a GPU: search only configurations and element types that another program's kernel "
        f"can run, for `engine.export --format NAME`: {', '.join(_options())}",
    )
    completes(action, _options)
    parser.finish_with(_apply)


def consumer_option(text: str) -> str:
    """The name of a consumer, for argparse."""
    return one_of("program to tune for", _options)(text)


def for_consumer(
    option: str, kernel: str | None, dtype: str | None, space: str, devices: Sequence[str]
) -> tuple[str | None, str]:
    """The element type and the search space of a study for a consumer.

    Args:
        option: its name, one of `CONSUMERS`.
        kernel, dtype, space, devices: as the user gave them.

    Raises:
        UserError: if the consumer has no place for such a study.
    """
    consumer = consumer_named(option)
    if space:
        raise UserError(f"--for {option} chooses the search space: leave out --space {space}")
    if kernel not in consumer.kernels:
        given = f", not of {kernel}" if kernel else ""
        raise UserError(
            f"{consumer.name} reads configurations of {' and '.join(consumer.kernels)} "
            f"only{given}: name one of these, or leave out --for {option}"
        )
    processors = [name for name in devices if gpu_name(name.partition("@")[0]) is None]
    if processors:
        raise UserError(
            f"{consumer.name} reads configurations of GPUs only, and {processors[0]} is none: add "
            "--device cuda or hip"
        )
    wanted = None if dtype is None else dtype_name(dtype)
    return consumer.dtype(kernel, wanted), consumer.space_name(kernel)


def _options() -> list[str]:
    return [consumer.option for consumer in CONSUMERS]


def _apply(arguments: argparse.Namespace) -> None:
    if arguments.consumer is not None:
        arguments.dtype, arguments.space = for_consumer(
            arguments.consumer,
            arguments.kernel,
            arguments.dtype,
            arguments.space,
            arguments.device,
        )

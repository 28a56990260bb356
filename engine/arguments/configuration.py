"""The argument for one configuration, `--config`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.arguments.problem import named_values
from foundation.command_line import ArgumentParser
from foundation.config import Config, ParameterValue
from foundation.errors import UserError, nearest
from kernels.registry import check_parameters
from search_spaces.space import Parameter

__all__ = ["add_config_argument", "complete_config"]


def add_config_argument(parser: ArgumentParser) -> None:
    """Add the argument for one configuration, behind those for the problem."""
    parser.add_argument(
        "--config",
        metavar="NAME=VALUE,...",
        type=_config_type,
        default={},
        help="values of the tuned parameters; those left out keep the default configuration's",
    )
    parser.finish_with(lambda arguments: check_parameters(arguments.kernel, arguments.config))


def _config_type(text: str) -> dict[str, ParameterValue]:
    """The values in "BLOCK_SIZE_M=16,USE_X=true", in the order written.

    Raises:
        argparse.ArgumentTypeError: for text that is not a list of names and values.
    """
    return {
        name: _value(value) for name, value in named_values(text, "BLOCK_SIZE_M=16,BLOCK_SIZE_N=32")
    }


def complete_config(
    given: Mapping[str, ParameterValue],
    default: Config,
    kernel: str,
    parameters: Sequence[Parameter] = (),
) -> Config:
    """`given`, with the default's value for each parameter that it leaves out.

    Args:
        given: values by parameter.
        default: the kernel's default configuration.
        kernel: its name.
        parameters: of the search space. One with a value below 1, as a flag has, may get any
            integer; others only those that a size may be.

    Raises:
        UserError: for a parameter that the kernel does not have, or a value that is not a positive
            integer if the default is an integer.
    """
    flags = {p.name for p in parameters if any(type(v) is int and v < 1 for v in p.values)}
    for name, value in given.items():
        if not default:
            raise UserError(f"{kernel} has no parameter to tune: leave {name} out")
        if name not in default:
            raise UserError(f"{kernel} has no parameter {name}: {nearest(name, default)}")
        if type(default[name]) is not int:
            continue
        if type(value) is not int or (value < 1 and name not in flags):
            kind = "an integer" if name in flags else "a positive integer"
            raise UserError(f"{name} must be {kind}, not {value}")
    return Config({**default, **given})


def _value(text: str) -> ParameterValue:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

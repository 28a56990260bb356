"""The size of a search space: python -m engine.space KERNEL [--shape M=256,...] [--samples 5]."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.arguments.problem import (
    add_device_argument,
    add_problem_arguments,
    add_space_argument,
)
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    natural_number,
    positive_integer,
    run_command,
)
from foundation.config import Config
from foundation.printing import say
from search_spaces.enumeration import Census, broken, take_census
from search_spaces.space import Rule, SearchSpace

__all__ = ["main"]

_PROG = "engine.space"
_DESCRIPTION = (
    "Prints how large a kernel's search space is and how many combinations each rule prunes."
)
_EPILOG = "Exit status: 0 if a configuration is valid, 1 if none is, 2 for a mistake."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments or a board that cannot be used.
    """
    arguments = _parse(argv)
    record = _record(arguments)
    if arguments.json:
        from engine.results.json import json_text

        say(json_text(record))
    else:
        say("\n".join(_lines(record)))
    return EXIT_FOUND if record["valid"] else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add_problem_arguments(parser)
    add_device_argument(parser)
    add_space_argument(parser)
    parser.add_argument(
        "--samples",
        metavar="N",
        type=positive_integer,
        default=5,
        help="configurations to print (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=natural_number,
        default=0,
        help="seed of the samples (default: %(default)s)",
    )
    return parser.parse(argv)


def _record(arguments: argparse.Namespace) -> dict[str, Any]:
    # Triton takes seconds to import: --help and mistyped names do not wait for it.
    from engine.workers.devices import load_board
    from kernels.registry import load_kernel, make_problem

    problem = make_problem(
        load_kernel(arguments.kernel),
        arguments.shape,
        arguments.dtype,
        space_name=arguments.space,
    )
    space = problem.space(load_board(arguments.device).info)
    census = take_census(space)
    return {
        "kernel": problem.spec.name,
        "shape": dict(problem.shape),
        "dtype": problem.dtype,
        "combinations": census.combinations,
        "valid": census.valid,
        "exact": census.is_complete,
        "parameters": {parameter.name: list(parameter.values) for parameter in space.parameters},
        "default": None if space.default is None else dict(space.default),
        "rules": [_rule(rule, census.removed.get(rule.name, 0)) for rule in space.constraints],
        "soft_rules": [
            _rule(rule, int(broken([rule], space, census.ranks).sum())) for rule in space.guesses
        ],
        "notes": list(space.notes),
        "samples": [dict(config) for config in _samples(space, census, arguments)],
    }


def _rule(rule: Rule, count: int) -> dict[str, object]:
    """A rule, and how many combinations it prunes; if it is soft, how many violate it."""
    return {"rule": rule.name, "count": count, "reason": rule.reason}


def _samples(space: SearchSpace, census: Census, arguments: argparse.Namespace) -> list[Config]:
    count = min(arguments.samples, len(census.ranks))
    rng = np.random.default_rng(arguments.seed)
    rows = np.sort(rng.choice(len(census.ranks), size=count, replace=False))
    return [space.config_of(census.ranks[row].tolist()) for row in rows]


def _lines(record: Mapping[str, Any]) -> list[str]:
    """One line per item: key=value fields separated by tabs."""
    exact = "yes" if record["exact"] else "no"
    lines = [f"combinations={record['combinations']}\tvalid={record['valid']}\texact={exact}"]
    lines += [
        f"parameter={name}\tvalues={','.join(map(str, values))}"
        for name, values in record["parameters"].items()
    ]
    if record["default"] is not None:
        lines.append(f"default={Config(record['default'])}")
    lines += [
        f"rule={rule['rule']}\tpruned={rule['count']}\treason={rule['reason']}"
        for rule in record["rules"]
    ]
    lines += [
        f"soft_rule={rule['rule']}\tviolations={rule['count']}\treason={rule['reason']}"
        for rule in record["soft_rules"]
    ]
    lines += [f"note={note}" for note in record["notes"]]
    return [*lines, *(f"sample={Config(sample)}" for sample in record["samples"])]


if __name__ == "__main__":
    run_command(main, _PROG)

"""Measure the cost of the power-of-two key: python -m engine.check_key KERNEL --shape M=24,..."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.arguments.options import (
    add_search_arguments,
    add_storage_argument,
    add_work_arguments,
    jobs_advice,
    request_for,
)
from engine.arguments.problem import add_device_argument, add_kernel_arguments
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    percentage,
    run_command,
)
from foundation.errors import UserError
from foundation.printing import say

if TYPE_CHECKING:
    from engine.run.tuning import TuningResult
    from engine.winners.stored import KeyCost
    from kernels.spec import Problem

__all__ = ["main"]

_PROG = "engine.check_key"
_DESCRIPTION = (
    "Measures the cost of the power-of-two key: tunes each shape, tunes its sizes rounded up to "
    "powers of two, and measures that winner at the shape itself."
)
_EPILOG = (
    "engine.lookup reads the result from the studies. Exit status: 0 if no shape costs more than "
    "the limit, 1 if one does, 2 for a mistake in the command."
)


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments or a board that cannot be used.
    """
    arguments = _parse(argv)
    with jobs_advice(arguments):
        costs, missing = _check(arguments)
    for cost in costs:
        say(cost)
    if missing:
        say(missing)
        return EXIT_NOTHING_VALID
    worst, limit = max(cost.cost for cost in costs), arguments.limit
    estimated = " (estimated)" if any(cost.estimated for cost in costs) else ""
    shown = "its winner fails" if math.isinf(worst) else f"worst {worst:.1%}{estimated}"
    verdict = "may be used" if worst <= limit else "costs too much"
    say(f"{shown}, limit {limit:.1%}: the power-of-two key {verdict}")
    return EXIT_FOUND if worst <= limit else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add_kernel_arguments(parser, several_shapes=True)
    add_device_argument(parser)
    add_search_arguments(parser)
    add = parser.add_argument
    add(
        "--limit",
        metavar="PERCENT",
        type=percentage,
        default="5",
        help="highest acceptable cost of the key (default: %(default)s)",
    )
    add_storage_argument(parser)
    add_work_arguments(parser)
    parser.finish_with(_check_shapes)
    return parser.parse(argv)


def _check_shapes(arguments: argparse.Namespace) -> None:
    """Refuse a command without a shape, before slow imports."""
    if not arguments.shape:
        raise UserError("nothing to check: give --shape, once for each shape")


def _check(arguments: argparse.Namespace) -> tuple[list[KeyCost], str]:
    """The key's cost at each shape, and why it is not known for every shape, or ""."""
    # Ray, Triton and Optuna take seconds to import: --help and mistyped names do not wait for them.
    from engine.jobs.shapes import tune_each
    from engine.winners.lookup import wanted, winners_for
    from engine.winners.stored import FEWEST_TRIALS, key_costs
    from engine.workers.ray_session import ray_session
    from foundation.shapes import shape_text

    problems = _problems(arguments)
    keys = {_key(problem).name: _key(problem) for problem in problems}
    with ray_session(arguments.jobs, arguments.ray_address):
        # Keys come first, so that each shape warm-starts from its key.
        requests = [request_for(problem, arguments) for problem in (*keys.values(), *problems)]
        results = {result.problem.name: result for result in tune_each(requests)}
        for problem in problems:
            at_key, here = results.get(_key(problem).name), results.get(problem.name)
            if at_key is not None and here is not None:
                _measure_winner_of(at_key, here, arguments)
    if len(results) < len(requests):
        return [], "stopped before every shape was tuned: run the same command to go on"
    first = next(iter(results.values()))
    about = wanted(arguments.kernel, first.problem.shape, first.problem.dtype, arguments.device)
    shapes = [dict(problem.shape) for problem in problems]
    found = key_costs(winners_for(about, first.storage), about.made_with)
    costs = [cost for cost in found if dict(cost.shape) in shapes]
    known = [dict(cost.shape) for cost in costs]
    unknown = [shape_text(shape) for shape in shapes if shape not in known]
    if not unknown:
        return costs, ""
    return costs, (
        f"not every shape could be checked: of {'; '.join(unknown)}, or its key, fewer than "
        f"{FEWEST_TRIALS} configurations have a time: give more --trials"
    )


def _problems(arguments: argparse.Namespace) -> list[Problem]:
    """The problem of each shape.

    Raises:
        UserError: without a shape, for a shape that is its own key, and for too few trials.
    """
    from engine.winners.stored import FEWEST_TRIALS
    from foundation.shapes import shape_text
    from kernels.registry import load_kernel, make_problem

    if arguments.trials is not None and arguments.trials < FEWEST_TRIALS:
        raise UserError(
            f"--trials {arguments.trials} is too few to judge the key: "
            f"give at least {FEWEST_TRIALS}"
        )
    spec = load_kernel(arguments.kernel)
    problems = [make_problem(spec, shape, arguments.dtype) for shape in arguments.shape]
    for problem in problems:
        if _key(problem) == problem:
            raise UserError(
                f"the sizes {shape_text(problem.shape)} are powers of two: "
                "give a shape with at least one other size"
            )
    return problems


def _key(problem: Problem) -> Problem:
    """The problem with its sizes rounded up to powers of two."""
    from engine.winners.stored import key_of
    from kernels.registry import make_problem

    return make_problem(problem.spec, key_of(problem.shape), problem.dtype)


def _measure_winner_of(
    at_key: TuningResult, here: TuningResult, arguments: argparse.Namespace
) -> None:
    """Measure the winner of one study in another, unless it has an outcome there."""
    from engine.jobs.config_checks import add_to_study

    winner = at_key.summary.winner
    if winner is not None and here.summary.winner is not None:
        add_to_study(here, winner.config, arguments.device, arguments.ray_address)


if __name__ == "__main__":
    run_command(main, _PROG)

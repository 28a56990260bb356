"""Which pass or rule of the compiler makes a kernel's output wrong:
python benchmarks/compiler/wrong_pass.py KERNEL [--config NAME=VALUE,...]

Builds a configuration without more and more of the passes and rules, and checks what it computes on
the emulated X60. KERNEL is one of the project's, or FILE.py:KERNEL.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Collection
from pathlib import Path

from build_without import build_without

from engine.arguments.problem import add_problem_arguments, complete_config, config_type
from engine.workers.artifacts import BuildFailure
from foundation.command_line import ArgumentParser, run_script
from kernels.registry import check_parameters, load_kernel, make_problem
from rvv_runner.devices import load_board
from triton_rvv.wrong_after import wrong_after

__all__ = ["main"]

_LIMIT_S = 600.0


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(Path(__file__).name, *(__doc__ or "").split("\n\n"))
    add_problem_arguments(parser)
    parser.add_argument(
        "--config",
        metavar="NAME=VALUE,...",
        type=config_type,
        default={},
        help="values of the tuned parameters; those left out keep the default configuration's",
    )
    parser.finish_with(lambda arguments: check_parameters(arguments.kernel, arguments.config))
    return parser.parse(None)


def main() -> None:
    """Print what each build computes, and then which pass or rule makes it wrong."""
    arguments = _parse()
    problem = make_problem(load_kernel(arguments.kernel), arguments.shape, arguments.dtype)
    board = load_board("emulated")
    space = problem.space(board.info)
    default = space.default or problem.default_config
    config = complete_config(arguments.config, default, problem.spec.name, space.parameters)
    board.open()
    with tempfile.TemporaryDirectory() as name:

        def is_wrong(skipped: Collection[str]) -> bool:
            folder = Path(name).resolve() / str(len(skipped))
            built, _ = build_without(problem, config, skipped, folder)
            status, reason = "compile", getattr(built, "reason", "")
            if not isinstance(built, BuildFailure):
                measurement = board.measure(built, 1, _LIMIT_S)
                status, reason = measurement.status, measurement.reason
            print(
                f"without {len(skipped)} passes and rules: {status} {reason}".rstrip(), flush=True
            )
            return status != "correct"

        print(wrong_after(is_wrong))


if __name__ == "__main__":
    run_script(main)

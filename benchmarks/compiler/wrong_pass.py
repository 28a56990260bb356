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

from engine.arguments.configuration import add_config_argument, complete_config
from engine.arguments.problem import add_problem_arguments
from engine.workers.artifacts import BuildFailure
from foundation.command_line import ArgumentParser, run_script
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board
from triton_rvv.wrong_after import wrong_after

__all__ = ["main"]

_LIMIT_S = 600.0


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(Path(__file__).name, *(__doc__ or "").split("\n\n"))
    add_problem_arguments(parser)
    add_config_argument(parser)
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
            found = (
                built.measurement
                if isinstance(built, BuildFailure)
                else board.measure(built, 1, _LIMIT_S)
            )
            what = f"without {len(skipped)} passes and rules"
            print(f"{what}: {found.status} {found.reason}".rstrip(), flush=True)
            return found.status != "correct"

        print(wrong_after(is_wrong))


if __name__ == "__main__":
    run_script(main)

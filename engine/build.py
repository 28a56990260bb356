"""Build configurations to measure by hand: python -m engine.build KERNEL --out DIR ..."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments.options import (
    SAMPLER_NAMES,
    add_jobs_argument,
    add_storage_argument,
    jobs_advice,
    sampler_name,
)
from engine.arguments.problem import add_kernel_arguments
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    natural_number,
    one_of,
    positive_integer,
    run_command,
)
from foundation.completion import completes
from foundation.printing import say
from rvv_runner.devices import known_board, known_boards

if TYPE_CHECKING:
    from engine.by_hand.study_file import StudyFile
    from engine.by_hand.tree import Tree
    from engine.search import Search
    from engine.workers.kernel_builder import BuildRequest
    from foundation.config import Config
    from kernels.spec import Problem
    from rvv_runner.board import BoardInfo

__all__ = ["main"]

_PROG = "engine.build"
_DESCRIPTION = (
    "Builds configurations into a folder that runs on a board without this program installed."
)
_EPILOG = (
    "See docs/guides/by_hand.md. Exit status: 0 if a configuration was built, 1 if none was, 2 for "
    "a mistake in the command."
)
_DEFAULT_BOARD = "x60"


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments.
    """
    arguments = _parse(argv)
    with jobs_advice(arguments):
        return EXIT_FOUND if _build(arguments) else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add_kernel_arguments(parser)
    add = parser.add_argument
    add("--out", metavar="DIR", type=Path, required=True, help="the folder to create")
    board = add(
        "--board",
        metavar="NAME",
        type=one_of("board", known_boards),
        default=_DEFAULT_BOARD,
        help=f"the board it will run on: one of {', '.join(known_boards())} (default: %(default)s)",
    )
    completes(board, known_boards)
    add(
        "--proposals",
        metavar="N",
        type=positive_integer,
        help="build only the study's next N proposals (default: every valid configuration)",
    )
    sampler = add(
        "--sampler",
        metavar="NAME",
        type=sampler_name,
        default="auto",
        help="sampler of the study (default: %(default)s)",
    )
    completes(sampler, lambda: SAMPLER_NAMES)
    add(
        "--seed",
        metavar="N",
        type=natural_number,
        default=0,
        help="seed of the sampler (default: %(default)s)",
    )
    add_storage_argument(parser)
    add("--study", metavar="NAME", help="name of the study (default: made from the problem)")
    add_jobs_argument(parser)
    return parser.parse(argv)


def _build(arguments: argparse.Namespace) -> bool:
    """Write the folder; return whether it holds an executable."""
    # Ray, Triton and Optuna take seconds to import: --help and mistyped names do not wait for them.
    from engine.by_hand.study_file import write_study_file
    from engine.by_hand.tree import Tree
    from kernels.registry import load_kernel, make_problem

    problem = make_problem(load_kernel(arguments.kernel), arguments.shape, arguments.dtype)
    board = known_board(arguments.board)
    search, study_file, request = _open_study(arguments, problem, board.info(arguments.board))
    tree = Tree(arguments.out, problem.spec.name, board)
    tree.begin()
    configs = _next(search, arguments.proposals)
    say(f"building {len(configs)} of {search.size} valid configurations", flush=True)
    built = _fill(tree, configs, request, arguments.jobs, problem.spec.arguments_limit_s)
    write_study_file(arguments.out, study_file)
    say(f"built: {built}, in {arguments.out}")
    say(f"next: python3 {arguments.out / 'transfer_to_remote.py'} USER@HOST:FOLDER")
    return built > 0


def _open_study(
    arguments: argparse.Namespace, problem: Problem, info: BoardInfo
) -> tuple[Search, StudyFile, BuildRequest]:
    """The folder's study, what finds it again, and what the builders need."""
    from engine.by_hand.study_file import StudyFile
    from engine.run.identity import identity_of
    from engine.search import Search
    from engine.study.location import is_url
    from engine.study.storage import open_study
    from engine.workers.artifacts import ARTIFACT_FOLDER, ArtifactStore
    from engine.workers.kernel_builder import BuildRequest

    space = problem.space(info)
    # engine.collect may run in another working directory.
    named = arguments.storage
    storage = named if is_url(named) else str(Path(named).resolve())
    identity = identity_of(problem, info, arguments.sampler, seed=arguments.seed)
    stored = open_study(storage, identity, space, arguments.study)
    study_file = StudyFile(
        kernel=problem.spec.load_name,
        shape=dict(problem.shape),
        dtype=problem.dtype,
        board=arguments.board,
        sampler=arguments.sampler,
        seed=arguments.seed,
        storage=storage,
        study=stored.study_name,
        made_with=dict(identity.made_with),
    )
    store = ArtifactStore(ARTIFACT_FOLDER.resolve())
    request = BuildRequest(
        problem.spec.load_name, problem.shape, problem.dtype, info.target, store, problem.outputs
    )
    return Search(space, arguments.sampler, arguments.seed, stored), study_file, request


def _next(search: Search, proposals: int | None) -> list[Config]:
    """The configurations to build: the study's next proposals, or all that it has not tried.

    Proposals are given back to the study at once, so another process may try them too.
    """
    if proposals is None:
        tried = {trial.config for trial in search.trials()}
        return [config for config in search.space.valid_configs() if config not in tried]
    configs: list[Config] = []
    while len(configs) < proposals and (config := search.ask()) is not None:
        configs.append(config)
    for config in configs:
        search.tell(config, None, status="board")
    return configs


def _fill(
    tree: Tree, configs: Sequence[Config], request: BuildRequest, jobs: int, inputs_s: float
) -> int:
    """Build into the folder; return how many builds succeeded.

    Args:
        tree: the folder.
        configs: what to build.
        request: for the builders.
        jobs: parallel builds.
        inputs_s: how long a build's arguments may take besides its own limit.
    """
    import functools

    from engine.workers.artifacts import BuildFailure
    from engine.workers.builders import BUILD_LIMIT_S, BuilderPool
    from engine.workers.kernel_builder import KernelBuilder
    from engine.workers.ray_session import ray_session
    from rvv_runner.measurement import ElfArtifact

    variants: list[dict[str, object]] = []
    with ray_session(jobs):
        builders = BuilderPool(
            functools.partial(KernelBuilder, request), jobs, BUILD_LIMIT_S + inputs_s
        )
        try:
            with ThreadPoolExecutor(jobs) as lanes:
                built = lanes.map(builders.build, configs)
                for config, result in zip(configs, built, strict=True):
                    if isinstance(result, BuildFailure):
                        say(f"not built: {config}: {result.reason}", flush=True)
                    else:
                        assert isinstance(result, ElfArtifact)
                        variants.append(tree.add(config, result))
        finally:
            builders.close()
    tree.finish(variants, list(configs[0]) if configs else [])
    return len(variants)


if __name__ == "__main__":
    run_command(main, _PROG)

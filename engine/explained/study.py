"""Explains trials of a stored study: on which board, of which problem, and which trials."""

from __future__ import annotations

from collections.abc import Mapping

from engine.explained.explained import Explained, explain_configs
from engine.run.summary import Summary
from engine.study.kernel_file import kernel_file_of
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from engine.workers.artifacts import ARTIFACT_FOLDER, ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.errors import UserError
from kernels.registry import kernel_names, load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner.devices import board_names, load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.usage import split_usage

__all__ = [
    "DEFAULT",
    "RUNNER_UP",
    "WINNER",
    "emulated_board",
    "explain_trials",
    "problem_of",
    "roles",
]

WINNER, RUNNER_UP, DEFAULT = "winner", "runner-up", "default"


def emulated_board(device: str) -> EmulatedBoard | None:
    """The emulated board of that name; None for any other device."""
    board = load_board(device) if split_usage(device)[0] in board_names() else None
    return board if isinstance(board, EmulatedBoard) else None


def roles(summary: Summary) -> dict[str, StoredTrial]:
    """The winner, the runner-up and the default, as far as the study has them."""
    trials = dict(zip((WINNER, RUNNER_UP), summary.best, strict=False))
    if summary.default is not None and summary.default not in trials.values():
        trials[DEFAULT] = summary.default
    return trials


def problem_of(stored: StoredTrials, file: str | None) -> Problem:
    """The study's problem, of several shapes the first.

    Args:
        stored: the study.
        file: of a kernel of the user's own; None for the one that the study names.

    Raises:
        UserError: if the kernel is not this project's and there is no file of it, the file holds
            another kernel, or the study chose other outputs.
    """
    name = str(stored.attribute("kernel"))
    if file is None and name not in kernel_names():
        file = kernel_file_of(stored, "add --kernel FILE with its file")
    spec = load_kernel(file or name)
    if spec.name != name:
        raise UserError(f"{file} holds {spec.name}, and {stored.study_name} is about {name}")
    made_with = stored.attribute("made_with")
    if isinstance(made_with, Mapping) and "choice of outputs" in made_with:
        raise UserError(f"{stored.study_name} chose its outputs: explain a study without that")
    shape = stored.attribute("shape")
    first = shape[0] if isinstance(shape, list) else shape
    assert isinstance(first, Mapping)
    return make_problem(spec, dict(first), str(stored.attribute("dtype")))


def explain_trials(
    problem: Problem, trials: Mapping[str, StoredTrial], board: EmulatedBoard
) -> list[Explained]:
    """Each of the trials by its role, run once more with its lines.

    Raises:
        UserError: if one cannot be built, or no longer computes what it should.
        BoardError: if the board cannot be used.
    """
    request = BuildRequest(
        problem.spec.load_name,
        problem.shape,
        problem.dtype,
        board.info.target,
        ArtifactStore(ARTIFACT_FOLDER.resolve()),
        with_lines=True,
    )
    board.open()
    configs = {label: trial.config for label, trial in trials.items()}
    return explain_configs(configs, KernelBuilder(request), board)

"""The studies that the arguments of engine.tune ask for, one for each kind of board and shape."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Sequence

from engine.arguments.options import search_options, work_options
from engine.run.request import StudyOptions, TuningRequest
from engine.workers.devices import boards_by_kind, every_device
from foundation.errors import UserError
from foundation.shapes import Shape, shape_text
from rvv_runner.usage import without_cores

__all__ = ["groups_of", "request_of", "requests_of"]


def requests_of(arguments: argparse.Namespace) -> list[TuningRequest]:
    """One study for each kind of board and, without --together, for each shape.

    Raises:
        UserError, BoardError: for arguments that contradict each other, or a board that cannot be
            used.
    """
    request = request_of(arguments)
    return [
        dataclasses.replace(request, devices=devices, shapes=shapes)
        for devices, shapes in itertools.product(
            groups_of(arguments), _shapes_of_studies(arguments)
        )
    ]


def request_of(arguments: argparse.Namespace) -> TuningRequest:
    """What all studies of the command have in common.

    Raises:
        UserError: for an option that does not go with the objectives.
    """
    study = StudyOptions(
        arguments.storage,
        arguments.study,
        arguments.use_history,
        _objectives(arguments),
        arguments.robust,
    )
    return TuningRequest(
        kernel=arguments.kernel,
        dtype=arguments.dtype,
        space=arguments.space,
        search=search_options(arguments),
        study=study,
        work=work_options(arguments),
    )


def _shapes_of_studies(arguments: argparse.Namespace) -> list[tuple[Shape, ...]]:
    """The shapes of each study.

    Raises:
        UserError: for a shape that is given twice, or --together with one.
    """
    shapes = arguments.shape or [{}]
    for shape in shapes:
        if shapes.count(shape) > 1:
            raise UserError(f"the shape {shape_text(shape)} is given twice: give it once")
    if not arguments.together:
        return [(shape,) for shape in shapes]
    if len(shapes) == 1:
        raise UserError("--together is for several shapes: give --shape at least twice")
    return [tuple(shapes)]


def _objectives(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The names of the objectives to minimise.

    Raises:
        UserError: for several of them with an option that minimises the time alone.
    """
    objectives: tuple[str, ...] = arguments.objective
    if len(objectives) == 1:
        return objectives
    from engine.search.samplers.registry import sampler_named

    sampler_named(arguments.sampler, len(objectives))
    if arguments.until:
        raise UserError(
            f"--until {arguments.until} minimises the time alone: leave out --until or --objective"
        )
    if arguments.together:
        raise UserError("--together minimises the time alone: leave out --together or --objective")
    return objectives


def groups_of(arguments: argparse.Namespace) -> list[Sequence[str]]:
    """The names of the boards of each study.

    Raises:
        UserError: for boards of several kinds without --mixed, and one name for several studies.
        BoardError: for boards that cannot be used.
    """
    if arguments.mixed and arguments.study is not None:
        raise UserError("--mixed makes a study for each kind of board: leave out --study")
    if len(arguments.shape) > 1 and not arguments.together and arguments.study is not None:
        raise UserError("there is a study for each --shape: leave out --study, or add --together")
    if len(arguments.device) == 1:
        return [arguments.device]
    kinds = boards_by_kind(arguments.device, arguments.ray_address)
    if len(kinds) > 1 and arguments.study is not None:
        raise UserError(
            f"there is a study for each of {', '.join(kinds)}: leave out --study, or name one"
        )
    is_one = len(set(map(without_cores, kinds))) == 1 or _is_one_board(arguments.device)
    if len(kinds) > 1 and not arguments.mixed and not is_one:
        listed = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items())
        raise UserError(
            f"the boards are of different kinds ({listed}), whose times cannot be compared: "
            "name boards of one kind, or add --mixed for one result per kind"
        )
    return list(kinds.values())


def _is_one_board(names: Sequence[str]) -> bool:
    """Whether these are the kinds of core of a single board."""
    return set(names) <= set(every_device(names[0].rpartition(":")[0]))

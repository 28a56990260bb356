"""The winners that a library is made from, read from studies of RISC-V boards."""

from __future__ import annotations

import contextlib

from engine.c_library.library_winner import LibraryWinner
from engine.c_library.own_kernel import OwnKernel
from engine.run.stored_summary import stored_summary
from engine.study.kernel_file import kernel_file_of
from engine.study.trials import StoredTrials
from engine.workers.devices import load_board
from foundation.config import Config
from foundation.errors import UserError
from foundation.shapes import Shape, as_shape
from foundation.triton_options import PREFETCH
from kernels.plain_calls import plain_call
from kernels.registry import kernel_names, load_kernel
from kernels.spec import KernelSpec
from rvv_runner.board import BoardError, wrapper_in
from rvv_runner.devices import board_names, known_board, known_boards
from rvv_runner.usage import without_cores
from triton_rvv.targets.target import RVVTarget, Target

__all__ = ["winners_of"]

_TUNE_AGAIN = "tune the kernel again, which stores where its file is"


def winners_of(study: StoredTrials) -> list[LibraryWinner]:
    """What to use of the study at each of its shapes; none if no configuration was correct.

    Raises:
        UserError: for a study of a shipped kernel without a plain call, of another device than a
            RISC-V board or one whose programs something else runs, or of a kernel whose source has
            changed.
    """
    trials = [trial for trial in study.changes() if trial.has_outcome]
    summary = stored_summary(study, trials)
    best = summary.to_use
    if best is None or best.time_s is None:
        return []
    kernel, device = str(study.attribute("kernel")), str(study.attribute("device"))
    target = _target(study.study_name, device)
    file = "" if kernel in kernel_names() else kernel_file_of(study, _TUNE_AGAIN)
    spec = load_kernel(file or kernel)
    _check_kernel(study, spec)
    _check_sense(study, spec, best.config)
    shapes = _shapes(study)
    if file:
        own = OwnKernel(file, str(study.attribute("dtype")))
        for shape in shapes:
            own.add(best.config, shape)
    made_with = study.attribute("made_with")
    parts = made_with if isinstance(made_with, dict) else {}
    return [
        LibraryWinner(
            kernel=kernel,
            dtype=str(study.attribute("dtype")),
            shape=shape,
            config=best.config,
            target=target,
            study=study.study_name,
            device=device,
            time_s=best.time_s,
            estimated=bool(best.attributes.get("estimated")),
            made_with=", ".join(f"{name} {value}" for name, value in parts.items()),
            file=file,
            tied=best is not summary.winner,
        )
        for shape in shapes
    ]


def _shapes(study: StoredTrials) -> list[Shape]:
    stored = study.attribute("shape")
    shapes = [as_shape(one) for one in (stored if isinstance(stored, list) else [stored])]
    return [shape for shape in shapes if shape is not None]


def _check_sense(study: StoredTrials, spec: KernelSpec, config: Config) -> None:
    """Anybody who may write to a storage may have made its studies."""
    sizes = set(spec.default_shape if spec.file else plain_call(spec.name).sizes)
    fixed = () if callable(spec.constants) else spec.constants  # a plain call relies on these
    is_config = set(config) - {PREFETCH} <= set(spec.kernel.arg_names) - set(fixed)
    is_shape = bool(_shapes(study)) and all(set(shape) == sizes for shape in _shapes(study))
    if not (is_config and is_shape and study.attribute("dtype") in spec.dtypes):
        raise UserError(
            f"the study {study.study_name} has a shape, an element type or parameters that "
            f"{spec.name} does not have: leave it out"
        )


def _check_kernel(study: StoredTrials, spec: KernelSpec) -> None:
    if spec.file is None:
        plain_call(spec.name)
    made_with = study.attribute("made_with")
    source = made_with.get("kernel source") if isinstance(made_with, dict) else None
    if source != spec.source_digest or study.attribute("kernel") != spec.name:
        raise UserError(
            f"the study {study.study_name} tuned another source of {spec.name} than this one: "
            "the kernel, its inputs, its reference or code that they use has changed; "
            f"tune {spec.file or spec.name} again, or leave the study out"
        )


def _target(study: str, device: str) -> RVVTarget:
    """What code for a device is made for.

    Raises:
        UserError: if it is no RISC-V board, its board file is gone, or its times are no core's.
    """
    if wrapper := wrapper_in(device):
        raise UserError(
            f"the study {study} has the times of {wrapper}, which ran the programs on {device}, "
            "not of a core: leave the study out"
        )
    target = _known_target(device)
    if not isinstance(target, RVVTarget):
        raise UserError(
            f"the study {study} is of the device {device}, and a C library holds code for RISC-V "
            "boards that a board file describes: leave the study out"
        )
    return target


def _known_target(device: str) -> Target | None:
    device = without_cores(device)
    for name in known_boards():
        # A wrong file of a board that no study here is of is no reason to write no library.
        with contextlib.suppress(BoardError):
            board = known_board(name)
            if board.kind == device:
                return board.info(board.name).target
    return load_board(device).info.target if device in board_names() else None

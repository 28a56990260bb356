"""The winners that a library is made from, read from studies of RISC-V boards."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from engine.run.stored_summary import stored_summary
from engine.study.trials import StoredTrials
from engine.workers.devices import load_board
from foundation.config import Config
from foundation.errors import UserError
from foundation.shapes import Shape, as_shape
from kernels.plain_calls import plain_call
from kernels.registry import kernel_names, load_kernel
from rvv_runner.board import BoardError
from rvv_runner.board_file import UNDER
from rvv_runner.devices import board_names, known_board, known_boards
from rvv_runner.usage import cores_in, without_cores
from triton_rvv.targets.target import RVVTarget, Target

__all__ = ["LibraryWinner", "best_winners", "winners_of"]


@dataclass(frozen=True)
class LibraryWinner:
    """The winner of a study at a shape, with all that a library says of where it is from.

    Args:
        kernel, dtype, shape, config: what runs, and where it was tuned.
        target: what its code is made for.
        study, device: where it was measured.
        time_s: its time there; over several shapes, their geometric mean.
        estimated: whether that comes from a model.
        made_with: compiler, board model and kernel source, as short texts.
    """

    kernel: str
    dtype: str
    shape: Shape
    config: Config
    target: RVVTarget
    study: str
    device: str
    time_s: float
    estimated: bool
    made_with: str

    @property
    def cores(self) -> int:
        """Of the device that ran the kernel at once."""
        return cores_in(self.device)


def best_winners(winners: Iterable[LibraryWinner]) -> list[LibraryWinner]:
    """The winner of each kernel, element type, target and shape, in a fixed order.

    Of two for the same, a measured time takes precedence over an estimated one, then the faster.
    """
    best: dict[object, LibraryWinner] = {}
    for winner in sorted(winners, key=lambda w: (_place(w), w.estimated, w.time_s, w.study)):
        best.setdefault(_place(winner), winner)
    return list(best.values())


def _place(winner: LibraryWinner) -> tuple[object, ...]:
    sizes = tuple(sorted(winner.shape.items()))
    target = winner.target
    return winner.kernel, winner.dtype, target.vlen_bits, str(target), winner.cores, sizes


def winners_of(study: StoredTrials) -> list[LibraryWinner]:
    """The study's winner at each of its shapes; none if no configuration was correct.

    Raises:
        UserError: for a study of a kernel without a plain call, of another device than a RISC-V
            board, or of a kernel whose source has changed.
    """
    trials = [trial for trial in study.changes() if trial.has_outcome]
    best = stored_summary(study, trials).winner
    if best is None or best.time_s is None:
        return []
    kernel, device = str(study.attribute("kernel")), str(study.attribute("device"))
    _check_kernel(study, kernel)
    _check_sense(study, kernel, best.config)
    made_with = study.attribute("made_with")
    parts = made_with if isinstance(made_with, dict) else {}
    return [
        LibraryWinner(
            kernel=kernel,
            dtype=str(study.attribute("dtype")),
            shape=shape,
            config=best.config,
            target=_target(study.study_name, device),
            study=study.study_name,
            device=device,
            time_s=best.time_s,
            estimated=bool(best.attributes.get("estimated")),
            made_with=", ".join(f"{name} {value}" for name, value in parts.items()),
        )
        for shape in _shapes(study)
    ]


def _shapes(study: StoredTrials) -> list[Shape]:
    stored = study.attribute("shape")
    shapes = [as_shape(one) for one in (stored if isinstance(stored, list) else [stored])]
    return [shape for shape in shapes if shape is not None]


def _check_sense(study: StoredTrials, kernel: str, config: Config) -> None:
    """Anybody who may write to a storage may have made its studies."""
    spec, sizes = load_kernel(kernel), set(plain_call(kernel).sizes)
    fixed = () if callable(spec.constants) else spec.constants  # a plain call relies on these
    is_config = set(config) <= set(spec.kernel.arg_names) - set(fixed)
    is_shape = bool(_shapes(study)) and all(set(shape) == sizes for shape in _shapes(study))
    if not (is_config and is_shape and study.attribute("dtype") in spec.dtypes):
        raise UserError(
            f"the study {study.study_name} has a shape, an element type or parameters that "
            f"{kernel} does not have: leave it out"
        )


def _check_kernel(study: StoredTrials, kernel: str) -> None:
    if kernel not in kernel_names():
        raise UserError(
            f"{kernel} is a kernel of your own, and the C library holds the shipped ones: compile "
            "its file with `rvv-tune compile`, and link the object (docs/reference/launcher.md)"
        )
    plain_call(kernel)
    made_with = study.attribute("made_with")
    source = made_with.get("kernel source") if isinstance(made_with, dict) else None
    if source != load_kernel(kernel).source_digest:
        raise UserError(
            f"the study {study.study_name} tuned another source of {kernel} than this one: "
            f"tune {kernel} again, or leave the study out"
        )


def _target(study: str, device: str) -> RVVTarget:
    """What code for a device is made for.

    Raises:
        UserError: if it is no RISC-V board, or its board file is gone.
    """
    target = _known_target(device)
    if not isinstance(target, RVVTarget):
        raise UserError(
            f"the study {study} is of the device {device}, and a C library holds code for RISC-V "
            "boards that a board file describes: leave the study out"
        )
    return target


def _known_target(device: str) -> Target | None:
    device = without_cores(device)
    kind = device.partition(UNDER)[0]
    for name in known_boards():
        # A wrong file of a board that no study here is of is no reason to write no library.
        with contextlib.suppress(BoardError):
            board = known_board(name)
            if board.kind == kind:
                return board.info(board.name).target
    return load_board(device).info.target if device in board_names() else None

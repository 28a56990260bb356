"""What a library is made from: the winner of a study at a shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from foundation.config import Config
from foundation.shapes import Shape
from rvv_runner.usage import cores_in
from triton_rvv.targets.target import RVVTarget

__all__ = ["LibraryWinner", "best_winners"]


@dataclass(frozen=True)
class LibraryWinner:
    """The winner of a study at a shape, with all that a library says of where it is from.

    Args:
        kernel, dtype, shape, config: what runs, and where it was tuned.
        file: of a kernel of the user's own, as `load_kernel` takes it; "" for a shipped one.
        target: what its code is made for.
        study, device: where it was measured.
        time_s: its time there; over several shapes, their geometric mean.
        estimated: whether that comes from a model.
        tied: whether it is the default configuration, from which the fastest cannot be told.
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
    file: str = ""
    tied: bool = False

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
    return (
        winner.kernel,
        winner.file,
        winner.dtype,
        target.vlen_bits,
        str(target),
        winner.cores,
        sizes,
    )

"""How far an estimate may be off."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ErrorBand"]


@dataclass(frozen=True)
class ErrorBand:
    """What published times say of a class of estimates.

    Args:
        error: relative error that 80% of the published times that no figure of the model was chosen
            by do not exceed.
        tied: relative difference of two estimates below which fewer than 90% of such pairs were
            published in that order, of those that were published more than 5% apart: of the others,
            it does not matter which one is used.
    """

    error: float
    tied: float

"""Tunes Triton kernels (propose, build, measure, learn) and looks up stored winners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foundation.interrupts import expect_interrupts
from foundation.notebooks import without_widget_advice

if TYPE_CHECKING:
    from engine import ops
    from engine.from_python import tune
    from engine.programs.applied import apply
    from engine.programs.captured import capture
    from engine.winners.lookup import lookup
    from engine.winners.tuned_kernel import tuned

__all__ = ["apply", "capture", "lookup", "ops", "tune", "tuned"]

expect_interrupts("engine")

# Imported only now, since an interrupt may come while it loads.
from foundation.foreign_kernels import check_kernels, explain_hidden_folders  # noqa: E402

check_kernels(Path(__file__).resolve().parents[1])
explain_hidden_folders()
without_widget_advice()


def __getattr__(name: str) -> object:
    # Triton and Optuna take seconds to import: --help does not wait for them.
    if name in ("apply", "capture", "ops", "tune"):
        import importlib

        return importlib.import_module(f"engine.{name}")
    if name == "lookup":
        from engine.winners.lookup import lookup

        return lookup
    if name == "tuned":
        from engine.winners.tuned_kernel import tuned

        return tuned
    raise AttributeError(f"module {__name__} has no attribute {name}")

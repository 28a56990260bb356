"""What winners lose over a board's family of models: python benchmarks/search/bench_robust.py.

Twelve kernels, drawn by a seed that was written down before any was looked at, each tuned twice
from nothing: for the mean regret over the family, and for the default model alone. Regrets are over
the fastest that either study found under each model.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from engine.run.request import SearchOptions, StudyOptions, TuningRequest
from engine.run.tuning import tune
from engine.study.objectives import Robust
from engine.study.robust import model_regrets
from engine.study.storage import study_named
from engine.study.stored_trial import StoredTrial
from foundation.command_line import positive_integer, run_script
from foundation.errors import UserError
from kernels.registry import kernel_names

__all__ = ["drawn_kernels"]

SEED = 20261124
KERNELS = 12
_MODES: tuple[Robust, ...] = ("mean", "off")


def drawn_kernels() -> list[str]:
    """The kernels of the table, sorted."""
    return sorted(random.Random(SEED).sample(sorted(kernel_names()), KERNELS))


def _tuned(
    kernel: str, robust: Robust, trials: int, device: str
) -> tuple[StoredTrial, list[StoredTrial]]:
    with tempfile.TemporaryDirectory() as folder:
        storage = str(Path(folder) / "robust.journal")
        request = TuningRequest(
            kernel,
            devices=(device,),
            search=SearchOptions(trials=trials),
            study=StudyOptions(storage, use_history=False, robust=robust),
        )
        result = tune(request, [])
        stored = study_named(storage, result.study)
        if result.summary.winner is None:
            raise UserError(f"no configuration of {kernel} was correct: give --trials more")
        return result.summary.winner, [t for t in stored.changes() if t.time_s is not None]


def main() -> None:
    """Print one row for each kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=positive_integer, default=20)
    parser.add_argument("--device", default="emulated")
    parser.add_argument("--kernels", nargs="*", default=drawn_kernels())
    arguments = parser.parse_args()
    print(
        "| kernel | robust: mean | worst | default's fastest: mean | worst "
        "| robust, under the default |"
    )
    print("|---|---|---|---|---|---|")
    for kernel in arguments.kernels:
        winners, every = [], []
        for robust in _MODES:
            winner, trials = _tuned(kernel, robust, arguments.trials, arguments.device)
            winners.append(winner)
            every += trials
        regrets = model_regrets(every)
        assert regrets is not None
        cells = [f(winner) for winner in winners for f in (regrets.mean, regrets.worst)]
        costs = regrets.of(winners[0])["default"]
        row = " | ".join(f"{cell:.1%}" for cell in (*cells, costs))
        print(f"| `{kernel}` | {row} |", flush=True)


if __name__ == "__main__":
    run_script(main)

"""What winners lose over a board's family of models: python benchmarks/search/bench_robust.py.

Each kernel is tuned three times from nothing: for the mean regret over the family, for the worst,
and for the default model alone. Regrets are over the fastest that any of the three studies found
under each model. The last columns tell a search that missed a configuration from a space that has
none: the least worst regret of any trial, and the model under which the mean's winner loses most.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from engine.run.request import SearchOptions, StudyOptions, TuningRequest
from engine.run.tuning import tune
from engine.study.objectives import Robust
from engine.study.robust import ModelRegrets, model_regrets
from engine.study.storage import study_named
from engine.study.stored_trial import StoredTrial
from foundation.command_line import positive_integer, run_script
from foundation.errors import UserError

__all__ = ["HELD_OUT", "KERNELS"]

# Drawn by random.Random(20261124).sample of the kernels of that day, before any was looked at.
KERNELS = (
    "batched_matmul",
    "correlation",
    "cross_entropy",
    "dropout",
    "flash_attention_fwd",
    "flash_attention_fwd_causal",
    "fused_moe",
    "gemm_a8w8_blockscale",
    "layernorm_bwd",
    "persistent_matmul",
    "rope_bwd",
    "rope_fwd",
)
# By random.Random(20261130).sample(…, 6) of the other 14, before --robust worst was tried on any.
HELD_OUT = (
    "add_rms_norm",
    "jacobi",
    "matmul_w4a16",
    "softmax",
    "swiglu",
    "vector_add",
)
_MODES: tuple[Robust, ...] = ("mean", "worst", "off")


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


def _row(
    kernel: str, winners: Sequence[StoredTrial], every: Sequence[StoredTrial], regrets: ModelRegrets
) -> str:
    cells = [
        f"{of(winner):.1%}"
        for winner in winners
        for of in (regrets.mean, regrets.worst, lambda trial: regrets.of(trial)["default"])
    ]
    losses = regrets.of(winners[0])
    least = min(regrets.worst(trial) for trial in every)
    return " | ".join((f"`{kernel}`", *cells, f"{least:.1%}", max(losses, key=losses.__getitem__)))


def main() -> None:
    """Print one row for each kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=positive_integer, default=20)
    parser.add_argument("--device", default="emulated")
    parser.add_argument("--held-out", action="store_true", help="tune the second list")
    parser.add_argument("--kernels", nargs="*", help="tune these instead")
    arguments = parser.parse_args()
    columns = [f"{mode}: {of}" for mode in _MODES for of in ("mean", "worst", "default")]
    columns = ["kernel", *columns, "least worst", "loses under"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for kernel in arguments.kernels or (HELD_OUT if arguments.held_out else KERNELS):
        winners, every = [], []
        for robust in _MODES:
            winner, trials = _tuned(kernel, robust, arguments.trials, arguments.device)
            winners.append(winner)
            every += trials
        regrets = model_regrets(every)
        assert regrets is not None
        print(f"| {_row(kernel, winners, every, regrets)} |", flush=True)


if __name__ == "__main__":
    run_script(main)

"""The provenance of a file of configurations: board, toolchain, and the figures of each winner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from engine.results.gemm_results import result_record
from engine.results.json import json_text
from engine.run.tuning import TuningResult
from engine.workers.toolchain import toolchain_versions
from foundation.errors import UserError
from rvv_runner.board import BoardInfo

__all__ = ["write_provenance"]


def write_provenance(path: Path, info: BoardInfo, results: Sequence[TuningResult]) -> Path:
    """Write NAME.provenance.json beside NAME.json and return its path.

    Args:
        path: of the file of configurations.
        info: the board.
        results: of each shape; those without a winner are left out.

    Raises:
        UserError: if it cannot be written.
    """
    records = [
        {
            "study": result.study,
            **result_record(result.problem, result.device, result.summary, winner),
        }
        for result in results
        if (winner := result.summary.winner) is not None
    ]
    outputs = [asdict(result.problem.outputs) for result in results][:1]
    described = {
        "board": asdict(info),
        "tools": toolchain_versions(info.backend),
        "asked_of_outputs": outputs[0] if outputs else None,
        "shapes": records,
    }
    written = path.with_suffix(".provenance.json")
    try:
        written.write_text(json_text(described) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{written} cannot be written: {error.strerror}") from error
    return written

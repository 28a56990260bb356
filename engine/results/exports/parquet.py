"""trials.parquet: the table of trials.csv with its types."""

from __future__ import annotations

from pathlib import Path

from engine.results.trials_table import study_table
from engine.results.units import counted
from engine.study.trials import StoredTrials
from foundation.errors import UserError
from foundation.programs import python_command

__all__ = ["write"]


def write(study: StoredTrials, folder: Path) -> str:
    """Write the table.

    Raises:
        UserError: without the package that pandas writes this format with.
    """
    table = study_table(study)
    if table.empty:
        return ""
    try:
        table.to_parquet(folder / "trials.parquet", index=False)
    except ImportError as error:
        raise UserError(
            f"parquet needs pyarrow: run `{python_command('pip')} install pyarrow`, or use "
            "--format csv"
        ) from error
    return counted(len(table), "trial")

"""From a file to its table: the first reader that knows the format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.tables import (
    aiter_csv,
    aiter_json,
    inductor_table,
    kernel_tuner_cache,
    rows_by_m,
    tune_gemm_results,
)
from engine.tables.table import Table
from engine.tables.table_file import TableFile, open_table
from foundation.errors import UserError

__all__ = ["read_table"]

# A new format is one file, and its reader here.
_READERS: tuple[Callable[[TableFile], Table | None], ...] = (
    kernel_tuner_cache.read,
    rows_by_m.read,
    aiter_json.read,
    inductor_table.read,
    aiter_csv.read,
    tune_gemm_results.read,
)


def read_table(path: Path) -> Table:
    """The table in a file.

    Raises:
        UserError: if it cannot be read, or no reader knows it.
    """
    file = open_table(path)
    for read in _READERS:
        table = read(file)
        if table is not None:
            if not table.rows:
                raise UserError(f"{path} holds no rows: give a file with some")
            return table
    raise UserError(
        f"{path} is no table of a known format: give a file of vLLM or SGLang under the name that "
        "it is looked up by, AITER's JSON or CSV, tune_gemm's YAML, Inductor's lookup table, or "
        "Kernel Tuner's cache"
    )

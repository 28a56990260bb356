"""Results of ROCm's tune_gemm, and those that `engine.gemm` and exports write in its form.

Read in `process_item` and `read_config` of ROCm's tune_gemm.py, November 2026.
"""

from __future__ import annotations

from engine.tables.table import Fault, Row, Table, as_config, fault_of_config, seconds
from engine.tables.table_file import TableFile
from foundation.document import Entry, read_list
from foundation.errors import UserError

__all__ = ["read"]

_SIZES = ("M", "N", "K")
_LAYOUTS = ("rowMajorA", "rowMajorB")
_ASKED = (
    *("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "SPLIT_K", "num_warps"),
    *("num_stages", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "schedule_hint"),
)
_US = 1e-6


def read(file: TableFile) -> Table | None:
    """The rows, if the file is YAML.

    Raises:
        UserError: for a file that is no list of products, with file and line.
    """
    if not file.is_list:
        return None
    entries = read_list(file.path, "matrix product")
    seen: dict[str, int] = {}
    return Table(file.path, "tune_gemm's results", tuple(_row(entry, seen) for entry in entries))


def _row(entry: Entry, seen: dict[str, int]) -> Row:
    line = entry.node.start_mark.line + 1
    values = {name: _scalar(entry, name) for name in entry.keys}
    lacking = [name for name in (*_SIZES, *_LAYOUTS, *_ASKED) if name not in values]
    sizes = {name: value for name in _SIZES if type(value := values.get(name)) is int}
    config = as_config({name: values[name] for name in _ASKED if name in values})
    faults = list(fault_of_config(config))
    if lacking:
        faults.append(Fault("invalid", f"it lacks {', '.join(lacking)}, at which tune_gemm ends"))
    if any(size < 1 for size in sizes.values()):
        faults.append(Fault("invalid", "a size is below 1"))
    speedup = values.get("speedup")
    if isinstance(speedup, int | float) and speedup <= 1:
        faults.append(Fault("no better", f"its speed-up over the default is {speedup}"))
    key = ",".join(str(values.get(name)) for name in (*_SIZES, *_LAYOUTS, "dtype"))
    before = seen.setdefault(key, line)
    if before != line:
        faults.append(Fault("duplicate", f"line {before} is about the same product"))
    whole = len(sizes) == len(_SIZES) and not faults and values.get("rowMajorB") == "T"
    return Row(
        f"line {line}",
        key,
        kernel=str(values.get("kernel", "matmul")) if whole else "",
        shape=sizes if whole else {},
        dtype=str(values.get("dtype", "")),
        config=config,
        time_s=seconds(values.get("time_us"), _US),
        faults=tuple(faults),
    )


def _scalar(entry: Entry, name: str) -> object:
    try:
        return entry.scalar(name)
    except UserError:
        return None  # an empty value, or a list

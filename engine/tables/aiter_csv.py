"""AITER's tables of tuned products: a row for each GPU and size, with the kernel to call.

Read in `get_CKGEMM_config` and `gemm_a8w8_blockscale` of AITER's gemm_op_a8w8.py, and in
`get_GEMM_A16W16_config` of its tuned_gemm.py, August 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from engine.tables.table import Fault, Row, Table, seconds
from engine.tables.table_file import TableFile

__all__ = ["read"]

_SIZES = ("M", "N", "K")
_KEYS = (
    *("gfx", "cu_num", "B", *_SIZES, "bias", "dtype", "outdtype", "scaleAB", "bpreshuffle"),
    "q_dtype_w",
)
_TYPES = ("dtype", "outdtype", "q_dtype_w")
# What str() makes of torch's types.
_TYPE = re.compile(r"torch\.(bfloat16|u?int(8|16|32)|float(16|32|8_\w+|4_\w+)|int4)")
_US = 1e-6
# The 8-bit float that AITER has on each GPU (its utility/dtypes.py).
_LATER = ("gfx950", "gfx1100", "gfx1101", "gfx1102", "gfx1151", "gfx1200", "gfx1201", "gfx1250")
_FP8 = {"gfx942": "torch.float8_e4m3fnuz", **dict.fromkeys(_LATER, "torch.float8_e4m3fn")}
_SCALED_LIBRARIES = ("ck", "cktile")


def read(file: TableFile) -> Table | None:
    """The rows, if the columns are AITER's."""
    if not {"cu_num", "us", *_SIZES} <= set(file.columns):
        return None
    keys = [name for name in _KEYS if name in file.columns]
    rows = tuple(_row(file, number, values, keys) for number, values in file.lines)
    return Table(file.path, "AITER's tuned products", _with_repeated(rows))


def _row(file: TableFile, number: int, values: Mapping[str, str], keys: list[str]) -> Row:
    wants = {"units": values.get("cu_num", "")}
    if "gfx" in keys:
        wants["arch"] = values.get("gfx", "")
    key = ",".join(values.get(name, "") for name in keys)
    faults = (*_sizes(values), *_types(values), *_library(file, values))
    return Row(f"line {number}", key, wants, time_s=_seconds(values.get("us", "")), faults=faults)


def _sizes(values: Mapping[str, str]) -> list[Fault]:
    odd = [name for name in _SIZES if not re.fullmatch(r"[1-9]\d{0,8}", values.get(name, ""))]
    faults = [
        Fault("invalid", f"{name} is {values.get(name, '')[:40]}: no size is") for name in odd
    ]
    if _seconds(values.get("us", "")) is None:
        faults.append(Fault("invalid", f"us is {values.get('us', '')[:40]}: no time is"))
    return faults


def _seconds(text: str) -> float | None:
    try:
        return seconds(float(text), _US)
    except ValueError:
        return None


def _types(values: Mapping[str, str]) -> list[Fault]:
    faults = []
    for name in _TYPES:
        text = values.get(name)
        if text is None:
            continue
        if not _TYPE.fullmatch(text):
            why = f"{name} is {text[:40]}, and a lookup asks for a type as torch.bfloat16"
            faults.append(Fault("never hit", why))
        elif text.startswith("torch.float8_e4m3"):
            asked = _FP8.get(values.get("gfx", ""), text)
            if text != asked:
                why = f"{name} is {text}, and on {values['gfx']} a lookup asks for {asked}"
                faults.append(Fault("never hit", why))
    return faults


def _library(file: TableFile, values: Mapping[str, str]) -> list[Fault]:
    name, library = file.path.name, values.get("libtype")
    scaled = "a8w8_blockscale" in name and "bpreshuffle" not in name and "fmoe" not in name
    if not scaled or library is None or library in _SCALED_LIBRARIES:
        return []
    known = " and ".join(_SCALED_LIBRARIES)
    why = f"libtype is {library[:40]}, at which AITER ends: it calls {known} only"
    return [Fault("invalid", why)]


def _with_repeated(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Rows of one key: AITER drops those that are the same, and cannot load any other."""
    first: dict[str, Row] = {}
    marked = []
    for row in rows:
        before = first.setdefault(row.key, row)
        if before is row:
            marked.append(row)
            continue
        why = f"{before.place} has the same key; AITER loads only tables where they agree in all"
        marked.append(replace(row, faults=(*row.faults, Fault("duplicate", why))))
    return tuple(marked)

"""AITER's files of Triton configurations: one for each range of M, named by N and K.

Read in `_get_gemm_config_cached` of AITER's gemm_config_utils.py, August 2026: M_LEQ_x from the
smallest x, then M_GEQ_x from the largest, then any.
"""

from __future__ import annotations

import re
from pathlib import Path

from engine.tables.table import Fault, Row, Table, as_config, fault_of_config
from engine.tables.table_file import Members, TableFile, open_table
from foundation.errors import UserError
from foundation.shapes import Shape

__all__ = ["read"]

_BOUNDS = (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
_RANGE = re.compile(r"M_(?P<side>[LG])EQ_(?P<bound>\d{1,9})")
_OLD = ("small", "medium_M32", "medium_M64", "medium_M128", "large", "xlarge")
_ANY = "any"
_NAME = re.compile(
    r"(?:(?P<arch>gfx\w+)-)?(?:\w+-)*?GEMM-(?P<tag>\w+)(?:-N=(?P<N>\d{1,9})-K=(?P<K>\d{1,9}))?\.json"
)
_DEFAULT = "DEFAULT.json"
_ARCH = re.compile(r"gfx\w+")


def read(file: TableFile) -> Table | None:
    """The rows, if their keys are ranges."""
    document = file.document
    if not isinstance(document, Members) or not any(map(_is_range, document)):
        return None
    named = _NAME.fullmatch(file.path.name)
    folders = [part for part in file.path.parent.parts if _ARCH.fullmatch(part)]
    arch = (named["arch"] if named else None) or (folders[-1] if folders else None)
    wants = {"arch": arch} if arch else {}
    is_ours = named is not None and named["tag"] == "A8W8_BLOCKSCALE" and bool(named["N"])
    weights = {"N": int(named["N"]), "K": int(named["K"])} if named and named["N"] else {}
    default = _default_of(file.path)
    rows = []
    for name, value in document.items():
        config = as_config(value)
        faults = [*fault_of_config(config), *_never(name, document)]
        if name in document.repeated:
            faults.append(Fault("duplicate", "the file has this key twice, and the last counts"))
        if config is not None and default.get(name) == value:
            faults.append(Fault("no better", f"{_DEFAULT} has the same configuration there"))
        found = _RANGE.fullmatch(name)
        shape: Shape = {"M": int(found["bound"]), **weights} if found and weights else {}
        kernel = "gemm_a8w8_blockscale" if is_ours and shape else ""
        dtype = "fp8e4nv" if kernel else ""
        rows.append(Row(name, name, wants, kernel, shape, dtype, config, None, tuple(faults)))
    return Table(file.path, "AITER's ranges of M", tuple(rows))


def _is_range(name: str) -> bool:
    return name == _ANY or name in _OLD or bool(_RANGE.fullmatch(name))


def _default_of(path: Path) -> Members:
    """The configurations for sizes without a file, if they stand beside this one."""
    beside = path.with_name(_DEFAULT)
    if path.name == _DEFAULT or not beside.is_file():
        return Members([])
    try:
        document = open_table(beside).document
    except UserError:
        return Members([])  # an audit of its own says what is wrong with it
    return document if isinstance(document, Members) else Members([])


def _never(name: str, document: Members) -> list[Fault]:
    """Why no M finds a range."""
    if name == _ANY:
        return []  # written for safety, where the ranges leave nothing
    found = _RANGE.fullmatch(name)
    if found is None:
        if name in _OLD and any(map(_RANGE.fullmatch, document)):
            return []  # for older loaders
        return [Fault("never hit", "today's loader asks for M_LEQ_x, M_GEQ_x and any only")]
    bound = int(found["bound"])
    if bound not in _BOUNDS:
        return [Fault("never hit", f"{bound} is none of the bounds that the loader goes through")]
    if found["side"] == "L":
        return []
    bounds = {side: [b for b in _BOUNDS if f"M_{side}EQ_{b}" in document] for side in "LG"}
    first = max([bound, *(b + 1 for b in bounds["L"])])
    taker = next((b for b in bounds["G"] if bound < b <= first), None)
    if taker is None:
        return []
    return [Fault("shadowed", f"from M={first} on, M_GEQ_{taker} is found first")]

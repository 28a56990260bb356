"""vLLM's and SGLang's files: a configuration by number of rows, in a file named by the rest.

Read in `get_moe_configs` and `get_w8a8_block_fp8_configs` of vLLM 0.2x and SGLang 0.5.23, November
2026. A product takes the configuration whose number of rows is nearest to its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.tables.table import Fault, Row, Table, as_config, fault_of_config
from engine.tables.table_file import Members, TableFile

__all__ = ["read"]

_NAME = re.compile(
    r"(?:E=(?P<E>\d{1,9}),)?N=(?P<N>\d{1,9})(?:,K=(?P<K>\d{1,9}))?,device_name=(?P<gpu>[^,]+)"
    r"(?:,dtype=(?P<dtype>[^,]+))?(?:,block_shape=\[(?P<block>\d+, ?\d+)\])?"
    r"(?P<channel>,per_channel_quant=True)?(?P<down>_down)?\.json"
)
_FOLDER = re.compile(r"triton_(\d+(?:_\d+)+)")
_VERSION = "triton_version"
_MOST_DIGITS = 9

# Our names of their types.
_PRODUCT_TYPES = {"fp8_w8a8": "fp8e4nv", "int8_w8a8": "i8"}


def read(file: TableFile) -> Table | None:
    """The rows, if the file's name is one of theirs."""
    named = _NAME.fullmatch(file.path.name)
    if named is None or not isinstance(file.document, Members):
        return None
    folder = _FOLDER.fullmatch(file.path.parent.name)
    is_sglang = folder is not None or ", " in (named["block"] or "") or bool(named["channel"])
    version = folder[1].replace("_", ".") if folder else file.document.get(_VERSION)
    wants = {"gpu": named["gpu"], **({"triton": str(version)} if version else {})}
    rows = [
        _row(name, value, wants, named, file.document)
        for name, value in file.document.items()
        if name != _VERSION or is_sglang or named["E"] is None
    ]
    consumer = "SGLang" if is_sglang else "vLLM"
    kind = "experts" if named["E"] else "scaled products"
    return Table(file.path, f"{consumer}'s {kind}", tuple(rows))


def _row(
    name: str, value: object, wants: Mapping[str, str], named: re.Match[str], document: Members
) -> Row:
    if not re.fullmatch(r"[1-9]\d*", name) or len(name) > _MOST_DIGITS:
        why = f"its reader takes each key for a number of rows, and {name[:40]} is none"
        return Row(name, name, faults=(Fault("invalid", why),))
    config = as_config(value)
    faults = fault_of_config(config)
    if name in document.repeated:
        faults = (*faults, Fault("duplicate", "the file has this key twice, and the last counts"))
    rows, n = int(name), int(named["N"])
    if named["E"]:
        kernel = "fused_moe" if not (named["channel"] or named["down"] or named["block"]) else ""
        shape = {"M": rows, "E": int(named["E"]), "N": 2 * n}
        dtype = {None: "bf16", "float32": "fp32"}.get(named["dtype"], "")
        kernel = kernel if dtype else ""
    else:
        dtype = _PRODUCT_TYPES.get(named["dtype"] or "", "")
        is_ours = dtype and named["K"] and (named["block"] or "").replace(" ", "") == "128,128"
        kernel = "gemm_a8w8_blockscale" if is_ours else ""
        shape = {"M": rows, "N": n, **({"K": int(named["K"])} if named["K"] else {})}
    return Row(f"M={name}", name, wants, kernel, shape, dtype, config, None, faults)

"""Inductor's lookup table: lists of template configurations by operation and inputs.

Read in `LookupTableChoices` of torch 2.13, November 2026.
"""

from __future__ import annotations

import ast
import re

from engine.tables.table import Fault, Row, Table, as_config, fault_of_config
from engine.tables.table_file import Members, TableFile
from foundation.config import Config
from foundation.shapes import Shape

__all__ = ["read"]

_KEY = re.compile(r"(?:(?P<gpu>[^+]+)\+)?(?P<inputs>\(\(.*\)\))(?:\+[^+]*=[^+]*)?\+(?P<op>\w+)")
_TEMPLATE = "template_id"
_TYPES = {"torch.float32": "fp32", "torch.float16": "fp16", "torch.bfloat16": "bf16"}
_KERNELS = {"mm": "matmul", "bmm": "batched_matmul"}
_BLOCKS = {"BLOCK_M": "BLOCK_SIZE_M", "BLOCK_N": "BLOCK_SIZE_N", "BLOCK_K": "BLOCK_SIZE_K"}
_NAMES = {**_BLOCKS, "GROUP_M": "GROUP_SIZE_M"}
_MOST_CHARACTERS = 10_000


def read(file: TableFile) -> Table | None:
    """The rows, if the file is such a table."""
    document = file.document
    if not isinstance(document, Members) or not any(map(_is_list_of_entries, document.values())):
        return None
    rows = []
    for key, entries in document.items():
        listed = entries if isinstance(entries, list) and entries else [None]
        for number, entry in enumerate(listed):
            rows.append(_row(key, number, entry, key in document.repeated))
    return Table(file.path, "Inductor's lookup table", tuple(rows))


def _is_list_of_entries(value: object) -> bool:
    return isinstance(value, list) and any(
        isinstance(entry, Members) and _TEMPLATE in entry for entry in value
    )


def _row(key: str, number: int, entry: object, repeated: bool) -> Row:
    place = f"{key[:100]} [{number}]"
    found = _KEY.fullmatch(key) if len(key) <= _MOST_CHARACTERS else None
    config = as_config(entry)
    faults = list(fault_of_config(config))
    if found is None:
        faults.append(Fault("never hit", "the key is not ((type, [sizes], [strides]), ...)+op"))
    if config is not None and _TEMPLATE not in config:
        faults.append(Fault("invalid", f"it has no {_TEMPLATE}, at which Inductor ends"))
    if repeated:
        faults.append(Fault("duplicate", "the file has this key twice, and the last counts"))
    if found is None or config is None:
        return Row(place, f"{key} {number}", config=config, faults=tuple(faults))
    wants = {"gpu": found["gpu"]} if found["gpu"] else {}
    kernel, dtype, shape = _KERNELS.get(found["op"], ""), *_problem(found["inputs"])
    named = {_NAMES.get(name, name): value for name, value in config.items()}
    ours = Config(
        {name: value for name, value in named.items() if name not in (_TEMPLATE, "EVEN_K")}
    )
    return Row(
        place,
        f"{key} {config}",
        wants,
        kernel if shape else "",
        shape,
        dtype,
        ours,
        faults=tuple(faults),
    )


def _problem(text: str) -> tuple[str, Shape]:
    """Type and sizes of a product of two row-major matrices, or of batches; empty for others."""
    try:
        inputs = ast.literal_eval(re.sub(r"torch\.\w+", lambda name: f"'{name[0]}'", text))
        (dtype, one, steps_of_one), (other_type, two, steps_of_two) = inputs
        (*batch, m, k), (*_, n) = one, two
        plain = [[*_steps(one)], [*_steps(two)]] == [steps_of_one, steps_of_two]
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return "", {}
    sizes = {"B": batch[0]} if len(batch) == 1 else {}
    sizes |= {"M": m, "N": n, "K": k}
    is_product = plain and dtype == other_type and list(two) == [*batch, k, n] and len(batch) < 2
    if not is_product or not all(type(size) is int and size > 0 for size in sizes.values()):
        return "", {}
    return _TYPES.get(dtype, ""), sizes


def _steps(sizes: list[int]) -> list[int]:
    steps = [1]
    for size in reversed(sizes[1:]):
        steps.insert(0, steps[0] * size)
    return steps

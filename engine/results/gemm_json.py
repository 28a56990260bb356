"""`{device}-GEMM-{tag}.json`: a configuration for each range of M, as AITER's kernels read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.results.atomic_file import write_json_file
from foundation.config import Config
from foundation.document import Entry, read_document
from foundation.errors import UserError
from search_spaces.rules import next_power_of_two

__all__ = [
    "Buckets",
    "bucket_of",
    "buckets",
    "commonest",
    "config_for",
    "gemm_json_name",
    "read_gemm_json",
    "write_gemm_json",
]

# The bounds of M that have a key in AITER's `gemm_config_utils.py`.
_BOUNDS = (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
_INDENT = 4
_ANY = "any"
_OLD_BUCKETS = ("small", "medium_M32", "medium_M64", "medium_M128", "large", "xlarge")

# Configurations by the name of a range of M.
Buckets = Mapping[str, Config]


def gemm_json_name(device: str, tag: str) -> str:
    """The name of the file; in the device's name, all but letters, digits and dots becomes "-"."""
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', device)}-GEMM-{tag}.json"


def bucket_of(m: int) -> str:
    """The range that M is in, as AITER's tuning guide names it."""
    if m < 32:
        return "small"
    if m <= 128:
        return f"medium_M{next_power_of_two(m)}"
    return "large" if m <= 256 else "xlarge"


def buckets(winners: Mapping[int, Config]) -> dict[str, Config]:
    """The winners of one N and K by ranges of M, under old and new names.

    Older loaders ask for small, medium_M32, medium_M64, medium_M128, large and xlarge. Newer ones
    ask for the smallest M_LEQ_x with M <= x, then for the largest M_GEQ_x with M >= x, then for
    any. If several M are in one range, the winner of the largest M is used.

    Args:
        winners: the best configuration by M, at least one.
    """
    found: dict[str, Config] = {}
    for m in sorted(winners):
        found[bucket_of(m)] = winners[m]
    for m in sorted(winners):
        bound = next((bound for bound in _BOUNDS if m <= bound), None)
        if bound is not None:
            found[f"M_LEQ_{bound}"] = winners[m]
    largest = max(winners)
    reached = [bound for bound in _BOUNDS if bound <= largest]
    if reached:
        found[f"M_GEQ_{reached[-1]}"] = winners[largest]
    found[_ANY] = winners[largest]
    return found


def commonest(files: Sequence[Buckets]) -> dict[str, Config]:
    """For each range the most common configuration of the files; of ties, the first."""
    names = dict.fromkeys(name for file in files for name in file)
    counted = {name: Counter(file[name] for file in files if name in file) for name in names}
    return {name: counts.most_common(1)[0][0] for name, counts in counted.items()}


def config_for(found: Buckets, m: int) -> Config:
    """The configuration for a product with M rows, found as newer loaders do.

    Raises:
        UserError: if no range holds M.
    """
    names = [f"M_LEQ_{bound}" for bound in _BOUNDS if m <= bound]
    names += [f"M_GEQ_{bound}" for bound in reversed(_BOUNDS) if m >= bound]
    for name in (*names, bucket_of(m), _ANY):
        if name in found:
            return found[name]
    raise UserError(f"no range of the file holds M = {m}: tune one that does")


def write_gemm_json(folder: Path, device: str, tag: str, found: Buckets) -> Path:
    """Write the file and return its path.

    Raises:
        UserError: if it cannot be written.
    """
    path = folder / gemm_json_name(device, tag)
    values = {name: dict(config) for name, config in found.items()}
    return write_json_file(path, values, _INDENT)


def read_gemm_json(path: Path) -> dict[str, Config]:
    """The configurations of a file by range, in the file's order.

    Raises:
        UserError: for an invalid file, with file, line and key.
    """
    document = read_document(path, "file of configurations")
    for name in document.keys:
        if name not in (*_OLD_BUCKETS, _ANY) and not re.fullmatch(r"M_[LG]EQ_\d+", name):
            document.fail(name, f"{name} is not a range of M: see docs/reference/job_files.md")
    document.only(document.keys)
    return {name: _config(document.entry(name, "configuration")) for name in document.keys}


def _config(entry: Entry) -> Config:
    return Config({name: entry.scalar(name) for name in entry.only(entry.keys).keys})

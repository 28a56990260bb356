"""The command `rvv_runner core`: from a page of published measurements to an emulated core."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import rvv_runner.emulated
from rvv_runner.board import BoardError
from rvv_runner.board_file import BoardFile
from rvv_runner.cores.emulated_file import CoreFacts, emulated_file
from rvv_runner.cores.fit_table import ClassThroughput, class_throughputs, entries_of
from rvv_runner.cores.memory_figures import memory_figures
from rvv_runner.cores.results_page import read_instructions, read_routines
from rvv_runner.emulated.costs import CostTable, read_cost_table

__all__ = ["base_costs", "core_from_pages", "cost_sections", "cost_table_of"]

_BASE_TABLE = "x60_costs.toml"
_PAGE = "index.html"
_MOST_DOUBLINGS = 6  # of the ways of a cache


def core_from_pages(pages: Path, facts: CoreFacts, like: BoardFile) -> str:
    """A board file for the core of which `pages` has measurements.

    Args:
        pages: a folder of https://github.com/camel-cdr/rvv-bench-results.
        facts: what the pages do not say in a form that a program reads.
        like: an emulated board, whose figures stand in for all that was not measured.

    Raises:
        BoardError: if the folder has no table of instructions, or no table can be made of it.
    """
    try:
        rows = read_instructions(pages / _PAGE)
        routines = read_routines(pages)
    except (OSError, UnicodeDecodeError) as error:
        raise BoardError(f"the results page cannot be read: {error}") from error
    throughputs = class_throughputs(rows)
    if not throughputs:
        raise BoardError(
            f"{pages / _PAGE} has no table of instructions: give a folder of rvv-bench-results"
        )
    source = f"rvv-bench: {pages.resolve().name}"
    memory = {
        name: (round(value, 1), f"{source}: {what}")
        for name, (value, what) in memory_figures(routines, facts.l1d_bytes, facts.l2_bytes).items()
    }
    costs = cost_sections(throughputs, {"memory": memory}, facts, like, source)
    title = (
        f"Written by `rvv_runner core` from {source} (MIT, Olaf Bernstein).\n"
        f"What is not measured there is assumed to be as on {like.name}, and says so."
    )
    return emulated_file(title, facts, costs)


def cost_sections(
    throughputs: Mapping[str, ClassThroughput],
    measured: Mapping[str, Mapping[str, Any]],
    facts: CoreFacts,
    like: BoardFile,
    source: str,
    ways: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, Any]:
    """[emulation.costs]: what was measured, on top of what `like` has of its own.

    Args:
        throughputs: by class of instructions.
        measured: other measured entries by part, each (value, source) or a class's.
        facts: give the sizes of caches, and what a nanosecond is in cycles.
        like: the emulated board that stands in for the rest.
        source: where the measurements are from.
        ways: of the caches "l1d" and "l2", as far as they were measured.

    Raises:
        BoardError: if they make no cost table, or no cache has one of the sizes.
    """
    assert like.emulation is not None
    base = _base_table()
    inherited = {
        part: _assumed(entries, like.name, facts.vlen_bits / like.vlen_bits)
        for part, entries in like.emulation.costs.items()
        if part != "vlen_bits"
    }
    whole = {part: {**base.get(part, {}), **entries} for part, entries in inherited.items()}
    sections = entries_of(throughputs, {**base, **whole}, source, like.name)
    sizes = _sizes(facts, base_costs(like)["memory"], ways)
    sections["memory"] = {**sizes, **_random_access(facts, like)}
    for part in dict.fromkeys((*inherited, *measured)):
        sections[part] = {
            **inherited.get(part, {}),
            **sections.get(part, {}),
            **measured.get(part, {}),
        }
    try:
        cost_table_of(sections, facts.vlen_bits)
    except (ValueError, KeyError, TypeError) as error:
        raise BoardError(f"no cost table can be made of {source}: {error}") from error
    return sections


def base_costs(like: BoardFile) -> dict[str, Any]:
    """The whole cost table of an emulated core as its files have it, by part."""
    assert like.emulation is not None
    base, own = _base_table(), like.emulation.costs
    return {**base, **{part: {**base[part], **own[part]} for part in base if part in own}}


def cost_table_of(sections: Mapping[str, Mapping[str, Any]], vlen_bits: int) -> CostTable:
    """The cost table that the sections of a core make.

    Args:
        sections: from `cost_sections`.
        vlen_bits: of the core.

    Raises:
        ValueError, KeyError, TypeError: like `read_cost_table`.
    """
    path = Path(rvv_runner.emulated.__path__[0]) / _BASE_TABLE
    return read_cost_table(path, vlen_bits, {**_values(sections), "vlen_bits": vlen_bits})


def _base_table() -> dict[str, Any]:
    path = Path(rvv_runner.emulated.__path__[0]) / _BASE_TABLE
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _assumed(entries: Mapping[str, Any], like: str, relative_vlen: float) -> dict[str, Any]:
    """Entries of another core, which say that they are, for registers so many times as long."""
    found: dict[str, Any] = {}
    for key, entry in entries.items():
        if isinstance(entry, Mapping):
            scale = relative_vlen if entry.get("scales_with") == "elements" else 1.0
            lists = {
                column: [round(cycles * scale, 2) for cycles in values]
                for column, values in entry.items()
                if isinstance(values, list)
            }
            found[key] = {**entry, **lists, "source": f"assumed to be as on {like}"}
        elif key == "source":
            found[key] = f"assumed to be as on {like}"
        else:
            found[key] = (entry, f"assumed to be as on {like}")
    return found


def _values(sections: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The sections without the sources beside single figures."""
    return {
        part: {k: v[0] if isinstance(v, tuple) else v for k, v in entries.items()}
        for part, entries in sections.items()
    }


def _sizes(
    facts: CoreFacts, base: Mapping[str, Any], measured_ways: Mapping[str, int]
) -> dict[str, tuple[int, str]]:
    """Sets and ways of the caches, whose sizes are known.

    The sets are a power of two, so what is odd of a size is in the ways: 48 KiB have 3, 6 or 12.
    """
    found = {}
    for cache, size_bytes in (("l1d", facts.l1d_bytes), ("l2", facts.l2_bytes)):
        odd, usual = size_bytes // _even_part(size_bytes), base[f"{cache}_ways"]
        measured = measured_ways.get(cache)
        ways, said = odd * _even_part(usual), "assumed"
        if measured is not None:
            near = (odd << k for k in range(_MOST_DOUBLINGS))
            ways, said = min(near, key=lambda n: abs(n - measured)), "measured"
        sets, rest = divmod(size_bytes, base["line_bytes"] * ways)
        if rest or not sets:
            raise BoardError(
                f"no cache has {size_bytes} bytes in lines of {base['line_bytes']} and {ways} "
                "ways: give its size in bytes"
            )
        found[f"{cache}_sets"] = (sets, f"derived: {size_bytes >> 10} KiB; {ways} ways {said}")
        found[f"{cache}_ways"] = (ways, said)
    return found


def _even_part(number: int) -> int:
    """The largest power of two that divides it."""
    return number & -number


def _random_access(facts: CoreFacts, like: BoardFile) -> dict[str, tuple[float, str]]:
    """Random access to DRAM, as many nanoseconds as on the other core."""
    assert like.emulation is not None
    path = Path(rvv_runner.emulated.__path__[0]) / like.emulation.cost_table
    there = read_cost_table(path, like.vlen_bits, like.emulation.costs)
    cycles = there.cycles("dram_random") * facts.frequency_hz / like.frequency_hz
    return {"dram_random": (round(cycles), f"assumed: as many nanoseconds as on {like.name}")}

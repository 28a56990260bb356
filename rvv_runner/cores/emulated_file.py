"""The text of a board file that emulates a core: every figure with its source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["UNKNOWN_CPU", "CoreFacts", "emulated_file"]

UNKNOWN_CPU = "generic-rv64"
_UNKNOWN = "LLVM has no model of the core, or QEMU not its extensions"
_EMULATION = """
[emulation]
cost_table = "x60_costs.toml" # what is not below is assumed to be as on the SpacemiT X60
"""


@dataclass(frozen=True)
class CoreFacts:
    """What has to be known of a core beside its costs.

    Args:
        vlen_bits: bits in a vector register.
        cores: how many a board has.
        frequency_hz: the clock.
        l1d_bytes, l2_bytes: sizes of the data caches.
    """

    vlen_bits: int
    cores: int
    frequency_hz: int
    l1d_bytes: int
    l2_bytes: int


def emulated_file(
    title: str, facts: CoreFacts, costs: Mapping[str, Any], cpu: str = UNKNOWN_CPU
) -> str:
    """The board file's text.

    Args:
        title: what the core is and where its costs are from; the file's first comment.
        facts: what `emulated:NAME` needs beside the costs.
        costs: [emulation.costs]; a figure outside of the classes is (value, source).
        cpu: LLVM's name of the core, if it has one and QEMU runs code for it.
    """
    lines = [
        *(f"# {line}".rstrip() for line in title.splitlines()),
        "",
        _line("cpu", (cpu, _UNKNOWN if cpu == UNKNOWN_CPU else "what code is made for")),
        *(f"{name} = {value}" for name, value in vars(facts).items()),
        _EMULATION,
        "[emulation.costs]",
        f"vlen_bits = {facts.vlen_bits} # which the lists below hold for",
    ]
    for part, entries in costs.items():
        lines += _part(f"emulation.costs.{part}", entries)
    return "\n".join(lines) + "\n"


def _part(name: str, entries: Mapping[str, Any]) -> Iterator[str]:
    plain = {key: entry for key, entry in entries.items() if not isinstance(entry, Mapping)}
    if plain:
        yield from ("", f"[{name}]")
        yield from (_line(key, entry) for key, entry in plain.items())
    for key, entry in entries.items():
        if isinstance(entry, Mapping):
            yield from ("", f"[{name}.{key}]")
            yield from (_line(field, value) for field, value in entry.items())


def _line(key: str, entry: Any) -> str:
    value, source = entry if isinstance(entry, tuple) else (entry, "")
    comment = f" # {source}" if source else ""
    return f"{key} = {json.dumps(value)}{comment}"

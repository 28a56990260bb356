"""Asks a board for its facts: processor, tools, governor."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rvv_runner.board_file import BoardFile
from rvv_runner.ssh.session import Session

__all__ = ["BoardFacts", "ask_facts", "matching_kind", "parse_facts", "processor_numbers"]

_PROBE = Path(__file__).with_name("probe.sh")
_PROBE_LIMIT_S = 20.0

# What Linux can be built for; a board may print anything.
_MOST_PROCESSORS = 8192


@dataclass(frozen=True)
class BoardFacts:
    """What a board reports about itself.

    Args:
        machine: as `uname -m` prints it.
        kernel: name and release of its operating system's, or "".
        processors: numbers of the online processors.
        missing: tools that a job needs and the board lacks.
        has_taskset, has_perf: tools that a job can do without.
        isa: of its cores, as /proc/cpuinfo shows it, or "".
        mvendorid, marchid: of its cores, None if /proc/cpuinfo does not show them.
        marchids: the architecture number of each processor that /proc/cpuinfo shows one for.
        governors: the distinct ones in use.
        temperature_c: its highest one in degrees Celsius, None if it shows none.
        highest_hz: highest clock that the system allows, None if it is not shown.
        perf_event_paranoid, perf_user_access: the kernel's settings, None if it has none.
    """

    machine: str
    processors: tuple[int, ...]
    kernel: str = ""
    missing: tuple[str, ...] = ()
    has_taskset: bool = False
    has_perf: bool = False
    isa: str = ""
    mvendorid: str | None = None
    marchid: str | None = None
    marchids: Mapping[int, str] = field(default_factory=dict)
    governors: tuple[str, ...] = field(default_factory=tuple)
    temperature_c: float | None = None
    highest_hz: int | None = None
    perf_event_paranoid: int | None = None
    perf_user_access: int | None = None


def ask_facts(session: Session, system: str) -> BoardFacts:
    """The facts of the board on this session, with its /sys at `system`.

    Raises:
        LinkLost: if the connection ends.
        ValueError: if its shell prints something else, for example because it is not a POSIX shell.
    """
    script = shlex.join(["sh", "-c", _PROBE.read_text(encoding="utf-8"), "sh", system])
    result = session.run(script, _PROBE_LIMIT_S)
    return parse_facts(result.output)


def parse_facts(text: str) -> BoardFacts:
    """The facts in the probe's output; other lines are ignored.

    Raises:
        ValueError: if the machine or its processors are missing.
    """
    facts: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        facts.setdefault(name, []).append(value.strip())
    if not facts.get("machine") or not facts.get("online"):
        raise ValueError("the board's shell did not run the probe")
    has = facts.get("has", [])
    frequencies = [int(value) * 1000 for value in facts.get("highest_khz", ()) if value.isdigit()]
    shown = [value for value in facts.get("temperature", ()) if re.fullmatch(r"-?\d+", value)]
    temperatures_c = [int(value) / 1000 for value in shown]
    return BoardFacts(
        machine=facts["machine"][0],
        processors=processor_numbers(facts["online"][0]),
        kernel=facts.get("kernel", [""])[0],
        missing=tuple(facts.get("missing", ())),
        has_taskset="taskset" in has,
        has_perf="perf" in has,
        isa=facts.get("cpu.isa", [""])[0],
        mvendorid=facts.get("cpu.mvendorid", [None])[0],
        marchid=facts.get("cpu.marchid", [None])[0],
        marchids={
            int(number): marchid
            for number, _, marchid in (line.partition(" ") for line in facts.get("marchid_of", ()))
            if number.isdigit()
        },
        governors=tuple(sorted(set(facts.get("governor", ())))),
        temperature_c=max(temperatures_c, default=None),
        highest_hz=max(frequencies, default=None),
        perf_event_paranoid=_number(facts, "perf_event_paranoid"),
        perf_user_access=_number(facts, "perf_user_access"),
    )


def _number(facts: Mapping[str, list[str]], name: str) -> int | None:
    value = facts.get(name, [""])[0]
    return int(value) if re.fullmatch(r"-?\d+", value) else None


def matching_kind(facts: BoardFacts, kinds: Iterable[BoardFile]) -> BoardFile | None:
    """The kind of board whose core has these vendor and architecture numbers."""
    if facts.mvendorid is None or facts.marchid is None:
        return None
    for kind in kinds:
        if (kind.mvendorid, kind.marchid) == (facts.mvendorid, facts.marchid):
            return kind
    return None


def processor_numbers(text: str) -> tuple[int, ...]:
    """The numbers in a list such as "0-3,6".

    Raises:
        ValueError: if it is no such list, or one of more processors than any board has.
    """
    numbers: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        if found is None:
            raise ValueError(f"the board's list of processors is {text!r}")
        first, last = int(found[1]), int(found[2] or found[1])
        if last >= _MOST_PROCESSORS:
            raise ValueError(f"the board's list of processors goes beyond {_MOST_PROCESSORS}")
        numbers += range(first, last + 1)
    return tuple(numbers)

"""The conditions on a board before and after a run, and whether its times can be trusted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
    "COOL_IT",
    "DOUBTED",
    "HOT",
    "Doubt",
    "describe_conditions",
    "doubt",
    "hot",
    "used_cpu_s",
]

# The condition of a measurement that names the cause for which its time was discarded.
DOUBTED = "doubted"

# The condition of a measurement that says how hot the board was, where its file has a limit.
HOT = "measured_hot"

COOL_IT = "cool the board, or write a higher limit into its board file"

_TICKS_A_SECOND = 100  # USER_HZ, the same on every Linux: proc(5)
_LEAST_BUSY_S = 0.05  # less than that comes from the login itself and the clock's resolution
_SLOWER = 0.95


@dataclass(frozen=True)
class Doubt:
    """Why a time cannot be trusted.

    Args:
        cause: "busy" with other programs, "throttled" to cool down, "limited" to a lower frequency
            meanwhile, or "slow": below the frequency that its governor asks for.
        text: the same for people.
    """

    cause: str
    text: str


def describe_conditions(raw: Mapping[str, tuple[str, ...]]) -> dict[str, float | str]:
    """The conditions before and after a run, in SI units; what the board does not show is absent.

    Args:
        raw: lines of the system's files by name, as a job reports them.
    """
    described: dict[str, float | str] = {}
    for moment in ("before", "after"):
        load = raw.get(f"{moment}.load")
        if load:
            described[f"{moment}_load"] = float(load[0].split()[0])
        temperatures = _integers(raw, f"{moment}.temperature")
        if temperatures:
            described[f"{moment}_temperature_c"] = max(temperatures) / 1000
        for name, file in _FREQUENCIES.items():
            values = _integers(raw, f"{moment}.{file}")
            if values:
                described[f"{moment}_{name}"] = values[0] * 1e3
        governor = raw.get(f"{moment}.scaling_governor")
        if governor:
            described[f"{moment}_governor"] = governor[0]
    others = _others_s(raw)
    if others is not None:
        described["other_programs_s"] = round(others[0], 2)
    return described


def hot(conditions: Mapping[str, float | str], limit_c: float | None) -> dict[str, float | str]:
    """The described conditions, with one more where the run began above the limit."""
    begun_c = conditions.get("before_temperature_c")
    if limit_c is None or not isinstance(begun_c, float) or begun_c <= limit_c:
        return dict(conditions)
    text = f"at {begun_c:g} °C, above `cool_below_c = {limit_c:g}`"
    return {**conditions, HOT: f"{text}: {COOL_IT}"}


_FREQUENCIES = {"frequency_hz": "scaling_cur_freq", "highest_frequency_hz": "scaling_max_freq"}


def doubt(raw: Mapping[str, tuple[str, ...]], busy_cores: float) -> Doubt | None:
    """Why a time measured under these conditions cannot be trusted; None if it can.

    A board is busy if other programs used more than `busy_cores` processors on average. It is
    throttled if a cooling device of the processor is active, if the highest allowed frequency
    fell during the run, or if the governor "performance" does not reach it.
    """
    others = _others_s(raw)
    if others is not None:
        used_s, elapsed_s = others
        if used_s > max(busy_cores * elapsed_s, _LEAST_BUSY_S):
            used = f"other programs used {used_s:.2f} s of its processors in {elapsed_s:.2f} s"
            return Doubt("busy", used)
    if any(level > 0 for level in _integers(raw, "after.cooling")):
        return Doubt("throttled", "its processor was throttled to cool down")
    before, after = (_integers(raw, f"{when}.scaling_max_freq") for when in ("before", "after"))
    if before and after and after[0] < before[0]:
        fell = f"its highest frequency fell from {before[0] // 1000} to {after[0] // 1000} MHz"
        return Doubt("limited", fell)
    frequency = _integers(raw, "after.scaling_cur_freq")
    performs = raw.get("after.scaling_governor") == ("performance",)
    if performs and after and frequency and frequency[0] < _SLOWER * after[0]:
        return Doubt("slow", f"it ran at {frequency[0] // 1000} MHz instead of {after[0] // 1000}")
    return None


def used_cpu_s(raw: Mapping[str, tuple[str, ...]]) -> float | None:
    """Processor time in seconds that the run used; None if the board does not show it."""
    own = [raw.get(f"{moment}.cpu_time") for moment in ("before", "after")]
    if not all(own):
        return None
    before_s, after_s = (_cpu_time_s(lines[0]) for lines in own if lines)
    return after_s - before_s


def _integers(raw: Mapping[str, tuple[str, ...]], name: str) -> list[int]:
    return [int(value) for value in raw.get(name, ()) if re.fullmatch(r"-?\d+", value)]


def _others_s(raw: Mapping[str, tuple[str, ...]]) -> tuple[float, float] | None:
    """Processor time that other programs used, and elapsed time, in seconds."""
    stats = [raw.get(f"{moment}.stat") for moment in ("before", "after")]
    own_s = used_cpu_s(raw)
    took = raw.get("run.took")
    if not all(stats) or own_s is None or not took:
        return None
    busy_ticks = [_busy_ticks(lines[0]) for lines in stats if lines]
    used_s = (busy_ticks[1] - busy_ticks[0]) / _TICKS_A_SECOND - own_s
    return max(used_s, 0.0), int(took[0]) / 100


def _busy_ticks(line: str) -> int:
    """Busy time of all processors in ticks, from the first line of /proc/stat; it includes steal
    time, which a host took."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, line.split()[1:9])
    return user + nice + system + irq + softirq + steal


def _cpu_time_s(line: str) -> float:
    """The sum of the times that the shell's `times` prints: "0m0.01s 0m0.00s 1m2.50s 0m0.10s"."""
    return sum(60 * int(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", line))

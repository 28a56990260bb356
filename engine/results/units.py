"""Times, counts and configurations as short readable text."""

from __future__ import annotations

from datetime import UTC, datetime

from foundation.config import Config

__all__ = [
    "count_text",
    "counted",
    "cycles_heading",
    "short_config",
    "short_names",
    "spaced_config",
    "speedup_text",
    "time_text",
    "utc",
]

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
_COUNT_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def time_text(time_s: float) -> str:
    """Three to four digits and a unit: "12.34 ms"."""
    size, unit = next((pair for pair in _TIME_UNITS if time_s >= pair[0]), (1e-9, "ns"))
    return f"{time_s / size:.4g} {unit}"


def utc(at_s: float | None) -> str | None:
    """A time in seconds since the epoch as "2026-11-29T16:05:08.250+00:00"; None if unknown."""
    if at_s is None:
        return None
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")


def cycles_heading(cores: int | None) -> str:
    """What stands above cycles, which add up over several cores; None where there are none."""
    return "cycles" if cores in (None, 1) else "cycles of all cores"


def count_text(count: float) -> str:
    """Three to four digits and a letter: "7.812M"."""
    size, unit = next((pair for pair in _COUNT_UNITS if abs(count) >= pair[0]), (1.0, ""))
    return f"{count / size:.4g}{unit}"


def counted(count: int, noun: str) -> str:
    """ "1 trial", "2 trials"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def speedup_text(speedup: float | None) -> str:
    """ "1.50x", or a dash if it is not known."""
    return "-" if speedup is None else f"{speedup:.2f}x"


def short_config(config: Config) -> str:
    """The configuration with short parameter names: "M=16 N=32 K=16 GROUP_M=8".

    "-" if the kernel has no parameters to tune.
    """
    return " ".join(f"{_short(name)}={value}" for name, value in config.items()) or "-"


def spaced_config(config: Config) -> str:
    """The configuration with spaces, so that lines can break: "BLOCK_SIZE_M=16 GROUP_SIZE_M=8"."""
    return str(config).replace(",", " ") or "-"


def short_names(config: Config) -> str:
    """The names that `short_config` shortens: "M is BLOCK_SIZE_M, GROUP_M is GROUP_SIZE_M"."""
    return ", ".join(f"{_short(name)} is {name}" for name in config if _short(name) != name)


def _short(name: str) -> str:
    return name.removeprefix("BLOCK_SIZE_").replace("_SIZE_", "_")

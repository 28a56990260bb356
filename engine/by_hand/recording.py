"""Samples events by symbol with perf record, to count them in the kernel alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.by_hand.bounded_run import run_alone
from rvv_runner.perf import parse_evlist, parse_reports, without_modifiers

__all__ = ["record_events"]

_PERF_LIMIT_S = 60.0
_RECORDING_BYTES = 1 << 28


def record_events(
    command: Sequence[str],
    leader: str,
    events: Mapping[str, str],
    symbols: Sequence[str],
    *,
    data: Path,
    report: Path,
    limit_s: float,
    core: int | None,
) -> dict[str, int]:
    """Events in the symbols during a run, by name; estimates from samples.

    The K1 cannot sample most events directly: perf samples the leader, and reads the others at each
    sample. An event that perf replaced by another is left out, and so is one without a sample in
    the symbols.

    Args:
        command: the program to run and its arguments.
        leader: the event to sample, as perf takes it.
        events: the others, as perf takes them, by name.
        symbols: of the kernel.
        data, report: files for perf's recording and its report.
        limit_s: time limit of the run in seconds.
        core: the processor to run on; None for any.
    """
    group = "{" + ",".join([leader, *events.values()]) + "}:S"
    record = ["perf", "record", "-q", "-e", group, "-o", str(data), "--", *command]
    if run_alone(record, limit_s, core, _RECORDING_BYTES).ending.returncode != 0:
        return {}
    recorded = {event.name for event in parse_evlist(_perf("evlist", "-v", "-i", str(data)))}
    options = ("--no-group", "--stdio", "-t,", "-F", "overhead,sample,period,symbol")
    text = _perf("report", "-i", str(data), *options)
    report.write_text(text, encoding="utf-8")
    samples = parse_reports(text)
    found = {}
    for name, event in events.items():
        plain = without_modifiers(event)
        period = sum(one.period for one in samples.get(plain, ()) if one.symbol in symbols)
        if plain in recorded and period > 0:
            found[name] = period
    return found


def _perf(*arguments: str) -> str:
    return run_alone(["perf", *arguments], _PERF_LIMIT_S).ending.stdout

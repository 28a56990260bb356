"""What run_perf.py does on the board: checks, times and counts each executable, one row each."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import shlex
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.by_hand.board_state import watched
from engine.by_hand.bounded_run import Outcome, board_lock, run_alone
from engine.by_hand.perf_table import COUNTED, RECORDED, append_row, read_rows
from engine.by_hand.recording import record_events
from foundation.printing import say
from rvv_runner.perf import counts_of_one_run, event_argument, parse_stat_csv
from rvv_runner.perf_groups import Counting, find_groups
from rvv_runner.verdict import Ending, judge

__all__ = ["run_all"]

_EXIT_MISTAKE = 2
_PERF_LIMIT_S = 20.0
_ATTEMPTS = 3  # if the board was busy or throttled
_PAUSE_S = 1.0
_LEADER = "u_mode_cycle"  # what perf record can sample on a K1


def run_all(root: Path) -> int:
    """Measure every executable without a row, or with rows of status "board" only.

    Args:
        root: the folder with configs.json.

    Returns:
        The exit status.
    """
    configs = json.loads((root / "configs.json").read_text(encoding="utf-8"))
    table = root / configs["perf_files"]["stat"]
    table.parent.mkdir(parents=True, exist_ok=True)
    rows = read_rows(table)
    done = {(row["ELF Name"], row["ELF SHA256"]) for row in rows if row["Status"] != "board"}
    variants = [variant for variant in configs["variants"] if _key(variant) not in done]
    for variant in variants:
        problem = _problem(root, variant)
        if problem:
            say(f"run_perf.py: {problem}: copy the folder again")
            return _EXIT_MISTAKE
    if not variants:
        say(f"every executable has its row: remove {table.relative_to(root)} to measure again")
        return 0
    bench = _Bench(root, configs, _count_what_can_be(configs["events"]))
    for number, variant in enumerate(variants, start=1):
        row = bench.measure(variant)
        append_row(table, configs["parameters"], row)
        said = row.get("Kernel Time (s)") or row["Reason"]
        say(f"{number}/{len(variants)} {row['ELF Name']}: {row['Status']} {said}", flush=True)
    say(f"written: {table.relative_to(root)}")
    return 0


def _key(variant: Mapping[str, Any]) -> tuple[str, str]:
    return Path(variant["elf_path"]).name, variant["sha256"]


def _problem(root: Path, variant: Mapping[str, Any]) -> str:
    """What is wrong with the files of a variant, or ""."""
    if not (root / variant["test_data_path"]).is_file():
        return f"{variant['test_data_path']} is missing"
    try:
        contents = (root / variant["elf_path"]).read_bytes()
    except OSError:
        return f"{variant['elf_path']} is missing"
    if hashlib.sha256(contents).hexdigest() != variant["sha256"]:
        return f"{variant['elf_path']} is not what was built"
    (root / variant["elf_path"]).chmod(0o755)
    return ""


def _count_what_can_be(events: Mapping[str, Any]) -> Counting:
    """Probe each event once, and print once which counters will be missing."""

    def count(asked: Sequence[str]) -> str:
        command = ["perf", "stat", "-x", ";", "-e", ",".join(asked), "--", "true"]
        try:
            return run_alone(command, _PERF_LIMIT_S).ending.stderr
        except OSError as error:
            return f"perf cannot be run: {error.strerror}"

    counting = find_groups(count, events) if events else Counting()
    if counting.problem:
        say(f"times only, no counters: {counting.problem}", flush=True)
    elif counting.refused:
        say(f"this board cannot count {', '.join(counting.refused)}", flush=True)
    return counting


@dataclass(frozen=True)
class _Bench:
    """Measures variants, one at a time.

    Args:
        root: the folder with configs.json.
        configs: its contents.
        counting: the events that the board can count.
    """

    root: Path
    configs: Mapping[str, Any]
    counting: Counting

    def measure(self, variant: Mapping[str, Any]) -> Mapping[str, str]:
        """The row of a variant; a time taken while the board was busy is taken again."""
        with board_lock(self.configs["lock"]):
            for attempt in range(1, _ATTEMPTS + 1):
                with watched(self._core, self.configs["busy_cores"]) as state:
                    outcome = self._run(variant, "--warmup", "1", *self._repeats)
                if not state.doubt:
                    break
                time.sleep(_PAUSE_S if attempt < _ATTEMPTS else 0)
            row = self._judged(outcome.ending, variant)
            if state.doubt and row["Status"] == "correct":
                row = {"Valid Output": "YES", "Status": "board", "Reason": state.doubt}
            events = self._events(variant) if row["Status"] == "correct" else {}
        name, sha256 = _key(variant)
        return {
            **{parameter: str(variant[parameter]) for parameter in self.configs["parameters"]},
            **row,
            **{event: f"{value:.0f}" for event, value in events.items()},
            "Timestamp": datetime.datetime.now().isoformat(sep=" ", timespec="seconds"),
            "ELF Name": name,
            "Total Time (s)": f"{outcome.took_s:.6f}",
            "ELF SHA256": sha256,
        }

    @property
    def _core(self) -> int:
        core: int | None = self.configs["core"]
        return max(os.sched_getaffinity(0)) if core is None else core

    @property
    def _repeats(self) -> tuple[str, str]:
        return ("--repeats", str(self.configs["repeats"]))

    def _command(self, variant: Mapping[str, Any], *options: str) -> list[str]:
        files = [str(self.root / variant[name]) for name in ("elf_path", "test_data_path")]
        return [*self.configs["wrapper"], *files, *variant["options"], *options]

    def _run(self, variant: Mapping[str, Any], *options: str) -> Outcome:
        command = self._command(variant, *options)
        try:
            return run_alone(command, self.configs["limit_s"], self._core)
        except OSError as error:
            message = f"{shlex.quote(command[0])}: {error.strerror}"
            return Outcome(Ending(127, "", message), took_s=0.0)

    def _judged(self, run: Ending, variant: Mapping[str, Any]) -> dict[str, str]:
        """The columns for the outcome of a run; a time only if the outputs were correct."""
        verdict = judge(
            run,
            self.configs["limit_s"],
            self.configs["repeats"],
            vlen_bits=variant["vlen_bits"],
            kernel=variant["kernel"],
        )
        launcher = verdict.launcher
        row = {
            "Valid Output": "YES" if launcher.output_ok else "NO",
            "Status": verdict.status,
            "Reason": verdict.reason,
        }
        if launcher.max_abs_error is not None:
            row["Max Abs Error"] = repr(launcher.max_abs_error)
        if verdict.status == "correct":
            row["Kernel Time (s)"] = f"{statistics.median(launcher.times_s):.9f}"
            row["Kernel Times (s)"] = " ".join(f"{time_s:.9f}" for time_s in launcher.times_s)
        return row

    def _events(self, variant: Mapping[str, Any]) -> dict[str, float]:
        """Events of one run of the grid: counted, or for the second-level cache sampled."""
        events: dict[str, float] = {}
        for group in self.counting.groups:
            counts = [self._counted(variant, group, runs) for runs in ("0", "1")]
            of_one_run = counts_of_one_run(*map(parse_stat_csv, counts))
            events.update({self.counting.names[event]: n for event, n in of_one_run.items()})
        counted = {name: events[name] for name in COUNTED if name in events}
        return {**counted, **self._recorded(variant)}

    def _counted(self, variant: Mapping[str, Any], group: Sequence[str], warm_up: str) -> str:
        # What a run of the grid more makes, and nothing else.
        command = self._command(variant, "--repeats", "0", "--warmup", warm_up)
        perf = ["perf", "stat", "-x", ";", "-e", ",".join(group), "--", *command]
        ending = run_alone(perf, self.configs["limit_s"], self._core).ending
        return ending.stderr if ending.returncode == 0 else ""

    def _recorded(self, variant: Mapping[str, Any]) -> dict[str, float]:
        """Sampled by symbol, since code around the kernel uses the second-level cache too."""
        known = {
            name: event_argument(event)
            for name, event in self.configs["events"].items()
            if name not in self.counting.refused
        }
        wanted = {name: known[name] for name in RECORDED if name in known}
        if self.counting.problem or _LEADER not in known or not wanted:
            return {}
        paths = {name: self.root / variant[f"perf_{name}_path"] for name in ("data", "report")}
        paths["data"].parent.mkdir(parents=True, exist_ok=True)
        periods = record_events(
            self._command(variant, *self._repeats),
            known[_LEADER],
            wanted,
            self.configs["symbols"],
            data=paths["data"],
            report=paths["report"],
            limit_s=self.configs["limit_s"],
            core=self._core,
        )
        runs = 1 + int(self.configs["repeats"])  # the check runs the grid too
        return {name: period / runs for name, period in periods.items()}

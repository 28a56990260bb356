"""Runs a program with the winners of its kernels, or lets this process launch them."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from engine.programs.loose import loose_constants
from engine.programs.watched import host_target, program_words, run_watched
from engine.results.units import spaced_config, time_text
from foundation.config import Config
from foundation.errors import UserError
from foundation.printing import say
from kernels.captured.task import Task
from kernels.captured.task_file import append_record, read_capture
from kernels.captured.task_values import Constant, Descriptor, Tensor, TupleValue, Value
from kernels.captured.winner import Winner
from triton_rvv.launches.process import watched_environment
from triton_rvv.launches.rule import Rule

__all__ = ["Applied", "CallableApply", "apply", "compare_program", "run_program"]

_ROUNDS = 5
_GENERATED = re.compile(r"^torch\._inductor\.runtime\.compile_tasks\.\w+\.")  # a digest as module


@dataclass(frozen=True)
class Applied:
    """What was used for one kind of launch.

    Args:
        kernel: its name, with its module.
        task: the task whose winner was used, or None.
        distance: doublings between the sizes of the launch and of the task.
        launches: how often.
        why: the reason where no winner was used, though the kernel was tuned.
        config: of the winner, as text.
        tied: whether that is the program's own, since nothing was clearly faster.
    """

    kernel: str
    task: str | None
    distance: float
    launches: int
    why: str
    config: str = ""
    tied: bool = False

    def __str__(self) -> str:
        kernel = _GENERATED.sub("torch.compile: ", self.kernel)
        if self.task is None:
            return f"{kernel}: as the program has it, since {self.why}"
        doublings = f"{self.distance:.2g}"
        plural = "" if doublings == "1" else "s"
        near = "" if self.distance == 0 else f", tuned {doublings} doubling{plural} away"
        times = f"{self.launches} launch{'' if self.launches == 1 else 'es'}"
        config = f": {self.config}" if self.config else ""
        tied = ", the program's own since nothing is clearly faster" if self.tied else ""
        return f"{kernel}: winner of task {self.task[:8]}, {times}{near}{config}{tied}"


def run_program(words: Sequence[str], path: Path) -> int:
    """Run a program with the winners of a capture's file; says on stderr what was used.

    Returns:
        The program's exit status, which is negative if a signal ended it.

    Raises:
        UserError: if there is no such program, or the file holds no winner.
    """
    command = program_words(words)
    with _overlay(path) as (overlay, report):
        status = run_watched(command, {"overlay": str(overlay)})
        uses = _uses(path, overlay, report)
        unseen = _unseen(overlay, uses)
    for use in uses:
        say(str(use), file=sys.stderr)
    for kernel in unseen:
        say(f"{kernel}: no winner was used, since no launch of it was seen", file=sys.stderr)
    if not uses:
        say(
            f"no winner was used: the program launched no kernel that is tuned in {path}",
            file=sys.stderr,
        )
    elif foreign := read_capture(path).foreign_devices:
        say(
            f"winners of {', '.join(foreign)} were used where there are none for this machine: "
            f"tune for it with --device {'host' if host_target() else 'cuda'}",
            file=sys.stderr,
        )
    append_record(path, {"record": "applied", "command": command, "uses": list(map(asdict, uses))})
    return status


def compare_program(words: Sequence[str], path: Path) -> int:
    """Run a program without and with its winners in turns; says on stderr what that brings.

    What the program prints is shown once, from the first run with winners. That run, and one
    without, compile what is missing, and do not count.

    Returns:
        The program's exit status with winners.

    Raises:
        UserError: as `run_program`; or if a run of the program fails.
    """
    command = program_words(words)
    say("first runs, which may compile and do not count", file=sys.stderr)
    _timed(command, None)
    status = run_program(words, path)
    if status != 0:
        return status
    pairs = []
    with _overlay(path) as (overlay, _):
        for number in range(1, _ROUNDS + 1):
            before_s, after_s = _timed(command, None), _timed(command, overlay)
            pairs.append((before_s, after_s))
            say(
                f"{number} of {_ROUNDS}: without winners {time_text(before_s)}, with winners "
                f"{time_text(after_s)}",
                file=sys.stderr,
            )
    say(_comparison(pairs), file=sys.stderr)
    return status


@contextlib.contextmanager
def apply(path: str | Path) -> Iterator[None]:
    """Within the block, launch this process's kernels with the winners of a capture's file.

    Raises:
        UserError: if the file is no capture, or holds no winner.
    """
    from triton_rvv.launches.interception import intercept
    from triton_rvv.launches.overlay import Overlay

    with _overlay(Path(path)) as (file, report):
        overlay = Overlay.read(file)
        end = intercept(overlay)
        try:
            yield
        finally:
            end()
            overlay.write(is_last=True)
            uses = [asdict(use) for use in _uses(Path(path), file, report)]
            append_record(path, {"record": "applied", "command": sys.orig_argv, "uses": uses})


class CallableApply(ModuleType):
    """Makes `engine.apply` both the module of the command `run` and a function."""

    def __call__(self, path: str | Path) -> contextlib.AbstractContextManager[None]:
        """See `apply`."""
        return apply(path)


@contextlib.contextmanager
def _overlay(path: Path) -> Iterator[tuple[Path, Path]]:
    """Within the block, a file that says what to replace, and one for what was replaced."""
    captured = read_capture(path)
    loose = loose_constants(captured)
    rules = [
        _rule(task, winner, loose.get(task.kernel.digest, frozenset()))
        for task in captured.tasks
        if (winner := captured.winners.get(task.key)) is not None
    ]
    if not rules:
        raise UserError(f"{path} holds no winner: tune it first, with the command tune {path}")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "applied"
        report.touch()
        overlay = Path(folder) / "overlay"
        described = {
            "rules": list(map(asdict, rules)),
            "report": str(report),
            "captured": sorted({task.kernel.digest for task in captured.tasks}),
        }
        overlay.write_text(json.dumps(described))
        yield overlay, report


def _rule(task: Task, winner: Winner, loose: frozenset[str]) -> Rule:
    return Rule(
        task=task.key,
        call_key=task.call_key,
        family=task.family,
        call_family=task.call_family,
        kernel=task.kernel.digest,
        name=f"{task.kernel.module}.{task.kernel.qualname}",
        sizes=task.sizes,
        dimensions=[size for value in task.arguments.values() for size in _dimensions(value)],
        config=dict(winner.config),
        grid=winner.grid,
        is_grid_callable=task.is_grid_callable,
        followed=sorted(_followed(task, winner)),
        loose=sorted(loose),
        loads=winner.loads,
        untold=winner.untold,
    )


def _dimensions(value: Value | Constant) -> tuple[int, ...]:
    """The sizes of the tensors of an argument."""
    if isinstance(value, TupleValue):
        return tuple(size for part in value.values for size in _dimensions(part))
    return value.shape if isinstance(value, Tensor | Descriptor) else ()


def _followed(task: Task, winner: Winner) -> set[str]:
    """The constants that the grid follows."""
    if winner.grid is not None:
        nodes = [node for text in winner.grid for node in ast.walk(ast.parse(text))]
        return {node.id for node in nodes if isinstance(node, ast.Name)}
    changed = [s.changed for s in task.grid_samples if s.grid != task.grid and len(s.changed) == 1]
    return {name for sample in changed for name in sample}


def _uses(path: Path, overlay: Path, report: Path) -> list[Applied]:
    """What all processes of a program used, those of a kind added up, in order of the names.

    Args:
        path: of the capture's file.
        overlay, report: what was to be replaced, and what was.
    """
    tied = {task for task, winner in read_capture(path).winners.items() if winner.tied}
    rules = json.loads(overlay.read_text())["rules"]
    configs = {
        rule["task"]: spaced_config(Config(rule["config"])) for rule in rules if rule["config"]
    }
    found: dict[tuple[str, str | None, float, str], int] = {}
    for line in report.read_text().splitlines():
        with contextlib.suppress(ValueError):  # an empty line, or one of a process that was killed
            record = json.loads(line)
            if record["record"] == "applied":
                kind = (record["kernel"], record["task"], record["distance"], record["why"])
                found[kind] = found.get(kind, 0) + record["launches"]
    uses = [
        Applied(kernel, task, distance, launches, why, configs.get(task or "", ""), task in tied)
        for (kernel, task, distance, why), launches in found.items()
    ]
    return sorted(uses, key=lambda use: (use.kernel, use.task or "", use.distance))


def _unseen(overlay: Path, uses: Sequence[Applied]) -> list[str]:
    """The kernels that have a winner and that no process launched where this sees it."""
    tuned = {str(rule["name"]) for rule in json.loads(overlay.read_text())["rules"]}
    names = tuned - {use.kernel for use in uses}
    return sorted(_GENERATED.sub("torch.compile: ", name) for name in names)


def _timed(command: Sequence[str], overlay: Path | None) -> float:
    """Seconds that a silent run of the program takes, with or without winners."""
    settings: dict[str, Any] = {} if overlay is None else {"overlay": str(overlay)}
    environment = watched_environment(os.environ, settings, host_target())
    start = time.perf_counter()
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
    )
    if done.returncode != 0:
        raise UserError(f"the program ended with status {done.returncode}: it cannot be compared")
    return time.perf_counter() - start


def _comparison(pairs: Sequence[tuple[float, float]]) -> str:
    before, after = ([pair[place] for pair in pairs] for place in (0, 1))
    ratios = sorted(one / other for one, other in pairs)
    return (
        "whole runs, which include start, compiling and, without winners, autotuning: without "
        f"winners {_spread(before)}, with winners {_spread(after)}: speed-up "
        f"{statistics.median(ratios):.2f}x ({ratios[0]:.2f}x to {ratios[-1]:.2f}x in "
        f"{len(pairs)} pairs)"
    )


def _spread(times_s: Sequence[float]) -> str:
    low, high = time_text(min(times_s)), time_text(max(times_s))
    return f"{time_text(statistics.median(times_s))} ({low} to {high})"

"""Replays searches on recorded spaces, in parallel; what has ended is kept in a file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import active_children, get_context
from pathlib import Path

from engine.replays.kernel_tuner_strategies import tried_by_kernel_tuner
from engine.replays.recorded_space import RecordedSpace
from engine.replays.searches import KERNEL_TUNER, factory, identity
from engine.replays.space_file import read_space
from foundation.config import Config
from foundation.errors import UserError

__all__ = ["Job", "Run", "replay", "run_all"]

# A search that asks for what it knows does not pay for it again. It is ended after so many asks.
_ASKS_PER_TRIAL = 20
_FURTHER_ASKS = 500

# The processor time of a proposal is that of the last trials, this part of all.
_LATE_PART = 0.1


@dataclass(frozen=True)
class Job:
    """One search of one space.

    Args:
        space: the file of the space.
        search: its name (`engine.replays.searches`).
        seed: of the search; spaces draw independently.
        trials: distinct configurations that it may try.
        name: of the space, for messages.
    """

    space: Path
    search: str
    seed: int
    trials: int
    name: str


@dataclass(frozen=True)
class Run:
    """What a search tried.

    Args:
        tried: the numbers of the configurations in the space's table, None for one that is not in
            it and counts as a failure; fewer than the job's trials if the search ended.
        ask_s: processor time in seconds of one trial, ask and tell, at the end; None if unknown.
        repeated: how often it asked for a configuration that it had tried; None if unknown.
    """

    tried: Sequence[int | None]
    ask_s: float | None = None
    repeated: int | None = None


def replay(of: RecordedSpace, search: str, seed: int, trials: int) -> Run:
    """Replay one search.

    Raises:
        UserError: if there is no such search.
    """
    numbers = {config: number for number, config in enumerate(of.configs)}
    seed = 1000 * seed + zlib.crc32(of.name.encode()) % 1000
    if search.startswith(KERNEL_TUNER):
        strategy = search.removeprefix(KERNEL_TUNER)
        tried, repeated = tried_by_kernel_tuner(of, strategy, seed, trials)
        return Run([numbers.get(config) for config in tried], repeated=repeated)
    asked = factory(search)(of.space, seed)
    seen: dict[Config, float | None] = {}
    spent_s: list[float] = []
    for _ in range(_ASKS_PER_TRIAL * trials + _FURTHER_ASKS):
        if len(seen) == trials:
            break
        start_s = time.process_time()
        proposed = asked.ask()
        if proposed is None:
            break
        config = Config(proposed)
        seen[config] = of.table.get(config)
        asked.tell(config, seen[config])
        spent_s.append(time.process_time() - start_s)
    late = spent_s[-max(1, round(_LATE_PART * len(spent_s))) :]
    ask_s = sum(late) / len(late) if late else None
    return Run([numbers.get(config) for config in seen], ask_s, len(spent_s) - len(seen))


def run_all(
    jobs: Sequence[Job], file: Path, processes: int, tell: Callable[[int, int, str], None]
) -> Mapping[Job, Run]:
    """Replay every job that no earlier call has replayed.

    Args:
        jobs: what to replay.
        file: one line of JSON per run, which is read first and appended to.
        processes: that replay in parallel.
        tell: called with how many of the jobs are done, how many there are, and which search of
            which space ended last; "" at the beginning.

    Raises:
        UserError: for a search that does not exist, a space that cannot be read, or a process
            that was killed.
        OSError: if the file cannot be written; it names the file.

    Either of these, Ctrl-C and SIGTERM end the searches under way at once; those that had ended are
    in the file.
    """
    kept = _kept(file)
    keys = {job: _key(job) for job in jobs}
    found = {job: kept[key] for job, key in keys.items() if key in kept}
    tell(len(found), len(jobs), "")
    left = [job for job in jobs if job not in found]
    if not left:
        return found
    file.parent.mkdir(parents=True, exist_ok=True)
    _append(file, "")  # no search is replayed for a file that cannot be written
    with _pool(min(processes, len(left))) as pool:
        with _without_interrupts():
            futures = {pool.submit(_replayed, job): job for job in left}
        for future in as_completed(futures):
            job = futures[future]
            try:
                found[job] = future.result()
            except BrokenProcessPool as error:
                raise UserError(
                    "a process that replays searches was killed, as where memory is short or a "
                    "sampler crashes Python: give --jobs 1; searches that had ended are kept"
                ) from error
            _append(file, _line(keys[job], job, found[job]))
            tell(len(found), len(jobs), f"{job.search} on {job.name}")
    return found


@contextlib.contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that are killed where the block does not come to its end."""
    others = active_children()
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        try:
            yield pool
        except BaseException:
            for process in active_children():
                if process not in others:
                    process.kill()
            raise


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes that are started here never see Ctrl-C, which a terminal sends to them too."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _replayed(job: Job) -> Run:
    """In a process of its own, which keeps the spaces that it read."""
    return replay(_space(job.space), job.search, job.seed, job.trials)


@cache
def _space(path: Path) -> RecordedSpace:
    return read_space(path)


def _kept(file: Path) -> dict[str, Run]:
    """The runs in a file, by key; a line that a killed process left unfinished is skipped."""
    if not file.is_file():
        return {}
    found = {}
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            row = json.loads(line)
            found[str(row["key"])] = Run(row["tried"], row["ask_s"], row.get("repeated"))
    return found


def _append(file: Path, line: str) -> None:
    """Add a line to a file, after a newline where a killed process left the last one unfinished."""
    try:
        with file.open("a+b") as lines:
            if lines.tell() > 0:
                lines.seek(-1, os.SEEK_END)
                if lines.read(1) != b"\n":
                    line = "\n" + line
            lines.write(line.encode())
    except OSError as error:  # such as a full disk, of which Linux does not name the file
        raise OSError(error.errno, error.strerror, str(file)) from error


def _line(key: str, job: Job, run: Run) -> str:
    about = {"space": job.name, "search": job.search, "seed": job.seed}
    return json.dumps({"key": key, **about, **asdict(run)}) + "\n"


def _key(job: Job) -> str:
    """What a run follows from."""
    parts = (_digest(job.space), _identity(job.search), str(job.seed), str(job.trials))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_identity = cache(identity)

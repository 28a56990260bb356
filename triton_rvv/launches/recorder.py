"""Records each launch of a program: what it was the first time, and then how often."""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_rvv.launches.capture_file import CaptureFile
from triton_rvv.launches.contents import contents_record
from triton_rvv.launches.decorators import kernel_under
from triton_rvv.launches.distance import size_distance
from triton_rvv.launches.launch import Launch
from triton_rvv.launches.signature import Signature
from triton_rvv.launches.steady_time import SteadyTime
from triton_rvv.launches.timing import REPEATS, Repeats, Timer, first_launch, new_timer

__all__ = ["Recorder"]

_NUMBERS = itertools.count()
# How often counts are written: a program that is killed loses the launches since then.
_WRITE_EVERY_S = 0.5
# Of more signatures that differ in sizes alone, launches count towards the most similar one.
_MOST_SIGNATURES = 32
# Launches whose tensors and grids are the same count together if their integers are this near: a
# seed or a step is another number each time, and a task for each would be too many to tune.
_NEAR = 1.0  # doublings


@dataclass
class _Entry:
    """A task of this process."""

    key: str
    timer: Timer
    sizes: list[int]
    frame: str
    written_launches: int = 0
    has_raised: bool = False


class _Thread(threading.local):
    """What one thread is at.

    Attributes:
        describes: whether it describes a launch. Kernels that are launched meanwhile, since a
            package has put them in the place of torch's operators, are not the program's.
        running: the kernel that the file says is running.
        chooses: called where the autotuner that launches a kernel measures.
    """

    describes = False
    running = ""

    chooses: Callable[[], object] = staticmethod(lambda: None)


class Recorder:
    """Writes a program's launches into a capture's file.

    Args:
        path: the file, which has begun.
        keep_data: whether large tensors are kept as they are.
    """

    def __init__(self, path: Path, *, keep_data: bool) -> None:
        self._file = CaptureFile(path)
        self._keep_data = keep_data
        self._lock = threading.RLock()
        self._entries: dict[str, _Entry] = {}
        self._similar: dict[str, list[_Entry]] = {}
        self._repeats: set[Repeats] = set()
        # Of a kernel, what is known of its launches; a program may make one capture after another.
        self._forms = f"triton_rvv_record{next(_NUMBERS)}"
        self._steady = SteadyTime()
        self._write_at = time.perf_counter() + _WRITE_EVERY_S
        self._unrecorded: set[str] = set()
        self._updating: set[str] = set()
        self._thread = _Thread()
        os.register_at_fork(after_in_child=self._after_fork)

    def leaves(self, launched: Any, tuner: Any) -> bool:
        """Leave nothing: each launch counts."""
        return False

    def launch(self, launch: Launch, run: Callable[[], Any]) -> Any:
        """Record a launch, and make it.

        Args:
            launch: what is launched.
            run: launches it.
        """
        if self._thread.describes:
            return run()
        forms = launch.forms(self._forms)
        entry, form, traits = forms.find(launch.args, launch.kwargs, launch.grid)
        if entry is None:
            self._steady.launched()
            with self._steady.once():
                return self._first(launch, form, traits, run)
        timer: Timer = entry.timer
        started = timer.start()
        result = run()
        with self._lock:
            timer.stop(started)
            if timer.is_short:
                self._repeats_of(launch).refill(timer)
        if started is not None and time.perf_counter() > self._write_at:
            self.write()
        return result

    def _repeats_of(self, launch: Launch) -> Repeats:
        holder = launch.holder.__dict__
        repeats = holder.get(REPEATS)
        if repeats not in self._repeats:  # new, or of an earlier capture
            repeats = holder[REPEATS] = Repeats()
            self._repeats.add(repeats)
        found: Repeats = repeats
        return found

    def started(self, launch: Launch, compiled: Any, run: Callable[[], Any]) -> Any:
        """Record a compiled kernel that a package starts by itself."""
        return self.launch(launch, run)

    def tuned(self, tuner: Any, args: Any, kwargs: Any, run: Callable[..., Any]) -> Any:
        """Leave the choice to the program's autotuner: its launch is recorded like others."""
        before = self._thread.chooses
        try:
            with self._steady.perhaps_once() as self._thread.chooses:
                return run(*args, **kwargs)
        finally:
            self._runs("")
            self._thread.chooses = before

    def benchmarked(self, tuner: Any, updated: Collection[str], run: Callable[[], Any]) -> Any:
        """Write down which kernel is measured: it may end the process; and what that changes."""
        try:
            name = kernel_under(tuner).__name__
        except AttributeError:  # a package's own
            name = "a kernel"
        self._runs(name)
        if updated and name not in self._updating:
            self._updating.add(name)
            self._file.write("updating", kernel=name, tensors=list(updated))
        try:
            self._thread.chooses()
            with self._steady.once():
                return run()
        finally:
            self._runs("")

    def _runs(self, kernel: str) -> None:
        """Write down which kernel runs, if another did; "" for none."""
        if kernel != self._thread.running:
            self._thread.running = kernel
            self._file.write("running", process=self._file.process, kernel=kernel)

    def prepared(self, tuner: Any) -> bool:
        """Leave the choice to torch.compile."""
        return False

    def write(self, *, is_last: bool = False) -> None:
        """Write how often each task was launched until now."""
        with self._lock:
            self._write_at = time.perf_counter() + _WRITE_EVERY_S
            records = []
            repeats = {id(r.timer): r.left for r in self._repeats}
            for entry in self._entries.values():
                to_come = repeats.get(id(entry.timer), 0)
                if is_last or entry.timer.launches - to_come != entry.written_launches:
                    entry.written_launches = entry.timer.launches - to_come
                    summed = entry.timer.summed(to_come, is_last=is_last)
                    records.append({"key": entry.key, **summed})
            for one in self._repeats if is_last else ():
                one.left = 0
        counted = [record for record in records if record["launches"]]
        if counted:
            own = {"record": "times", "process": self._file.process}
            # First launches were left out, and their kernels count.
            firsts_s = sum(entry.timer.usual_s for entry in self._entries.values())
            steady = {**own, "record": "steady", "time_s": self._steady.seconds + firsts_s}
            self._file.write_all([*({**own, **record} for record in counted), steady])

    def _first(self, launch: Launch, form: Any, traits: Any, run: Callable[[], Any]) -> Any:
        """Record a launch unlike those before it."""
        entry = self._described(launch)
        if entry is None:
            return run()
        self._runs(launch.kernel.fn.__name__)
        try:
            with first_launch(entry.timer, is_compiled=launch.is_generated) as marks:
                result = run()
        except Exception:
            self._raised(entry)
            raise
        finally:
            self._runs("")
        form.remember(traits, entry)
        with self._lock:
            entry.timer.first((marks[0], marks[1]) if len(marks) == 2 else None)
        return result

    def _raised(self, entry: _Entry) -> None:
        """Write down that a task was not launched after all, unless it is another time."""
        with self._lock:
            is_new, entry.has_raised = not entry.has_raised, True
        if is_new:
            self._file.write("raised", key=entry.key)

    def _described(self, launch: Launch) -> _Entry | None:
        """The entry of a launch, written down if it is new; None if it cannot be described."""
        self._thread.describes = True
        try:
            signature = launch.signature()
            with self._lock:
                entry = self._entries.get(signature.key) or self._counted_with(signature)
            if entry is None:
                entry = self._written(launch, signature)
        except Exception as error:  # the program has to go on, whatever it launched
            self._note(launch.kernel, error)
            return None
        finally:
            self._thread.describes = False
        return entry

    def _counted_with(self, signature: Signature) -> _Entry | None:
        """The most similar entry, if it is near, or there are many that differ in sizes alone."""

        frame, sizes = signature.frame, signature.sizes

        def distance(entry: _Entry) -> float:
            return size_distance(entry.sizes, sizes)

        similar = self._similar.get(signature.family, [])
        if len(similar) >= _MOST_SIGNATURES:
            return min(similar, key=distance)
        alike = [entry for entry in similar if entry.frame == frame]
        nearest = min(alike, key=distance, default=None)
        return nearest if nearest is not None and distance(nearest) < _NEAR else None

    def _written(self, launch: Launch, signature: Signature) -> _Entry:
        storages = [
            {
                "dtype": signature.dtype_name(memory.first),
                "elements": memory.elements,
                "front": memory.front,
                "contents": contents_record(
                    memory, _seed(signature.key, number), keep_data=self._keep_data
                ),
            }
            for number, memory in enumerate(signature.ranges)
        ]
        texts = [self._kept(text) for text in (launch.module_source(), launch.definition())]
        self._file.write("task", **launch.record(signature, *texts), storages=storages)
        entry = _Entry(signature.key, new_timer(), signature.sizes, signature.frame)
        with self._lock:
            entry = self._entries.setdefault(signature.key, entry)
            self._similar.setdefault(signature.family, []).append(entry)
        return entry

    def _kept(self, text: str) -> str:
        """The digest of a text, which the file has once; "" for none."""
        if not text:
            return ""
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._file.source(digest, text)
        return digest

    def _note(self, kernel: Any, error: Exception) -> None:
        name = f"{kernel.module}.{kernel.fn.__qualname__}"
        if name not in self._unrecorded:
            self._unrecorded.add(name)
            why = str(error) if isinstance(error, TypeError) else f"{type(error).__name__}: {error}"
            self._file.write("unrecorded", kernel=name, why=why)

    def _after_fork(self) -> None:
        self._lock = threading.RLock()
        self._file.after_fork()
        self._steady.after_fork()
        for repeats in self._repeats:
            repeats.left = 0
        for entry in self._entries.values():
            entry.timer.after_fork()
            entry.written_launches = 0


def _seed(key: str, number: int) -> int:
    return int(key[:8], 16) + number

"""How far a program's tasks are tuned, and what the scheduler is told of each."""

from __future__ import annotations

import bisect
import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.programs.scheduler import TaskState
from engine.run.summary import Summary
from engine.run.tuning import TuningResult
from engine.study.stored_trial import StoredTrial

__all__ = [
    "ProgramTask",
    "TaskStanding",
    "measured_share",
    "program_times_s",
    "states_of",
]

_QUIET_IN_A_ROW = 2
# Of shorter launches, a capture times the waking of threads, or of a GPU, more than the kernel.
_LONG_S = 100e-6


@dataclass(frozen=True)
class ProgramTask:
    """A kernel signature of a program.

    Args:
        key: of the task in the capture.
        load_name: the kernel as `kernels.registry.load_kernel` takes it.
        kernel: its name; tasks of one kernel warm-start each other.
        label: for people, such as "softmax 256x512 fp32".
        launches: in one run of the program.
        captured_s: time of a launch in the captured run, in seconds; None if it was not measured.
        is_examined: whether it is known what varies in it.
        listed: how many configurations its autotuner lists; 0 without one.
        size_bytes: of its tensors.
        is_wide: whether more is tried than these.
    """

    key: str
    load_name: str
    kernel: str
    label: str
    launches: int
    captured_s: float | None
    is_examined: bool = True
    listed: int = 0
    size_bytes: int = 0
    is_wide: bool = False


@dataclass(frozen=True)
class TaskStanding:
    """A task, as far as it is tuned.

    Args:
        task: the task.
        size: how many valid configurations its space has.
        result: of the last run of its study; None before the first.
        tuning_s: seconds that this command spent on it.
        trials: trials that this command made.
        quiet: runs in a row after which little more was expected.
        refusal: why it cannot be tuned, in one sentence; "" if it can.
        exhausted: whether there is nothing left to try.
        waits: whether it is not known yet what varies in it.
        is_noisy: whether times vary on its board. A gain then counts once it was measured in turns:
            the trials of both may be of days on which the board was not equally busy.
        compared: what was known when leaders were last compared; None before.
    """

    task: ProgramTask
    size: int = 1
    result: TuningResult | None = None
    tuning_s: float = 0.0
    trials: int = 0
    quiet: int = 0
    refusal: str = ""
    exhausted: bool = False
    waits: bool = False
    is_noisy: bool = False
    compared: Summary | None = None

    @property
    def is_done(self) -> bool:
        """Whether it gets no more trials."""
        is_left = self.waits or bool(self.refusal) or self.exhausted
        return is_left or self.quiet >= _QUIET_IN_A_ROW

    @property
    def has_tried_list(self) -> bool:
        """Whether all that its autotuner lists was tried, and nothing else may be."""
        # The deployed configuration may be none of them.
        is_list = self.task.listed > 0 and self.size <= self.task.listed + 1
        return self.exhausted and is_list and not self.task.is_wide

    @property
    def tried(self) -> int:
        """Trials of its study, earlier runs included."""
        return 0 if self.result is None else self.result.ended.tried

    @property
    def is_unconfirmed(self) -> bool:
        """Whether something was faster than the deployed configuration in trials alone, which do
        not count."""
        summary = None if self.result is None else self.result.summary
        if not self.is_noisy or summary is None or summary.default is None:
            return False
        return summary.comparison is None and summary.to_use is not summary.default

    @property
    def to_use(self) -> StoredTrial | None:
        """The configuration to use: the deployed one where nothing is known to be faster."""
        told = self._told
        if told is None:
            return None
        return told.default if self.is_unconfirmed and told is not self.compared else told.to_use

    @property
    def stays_deployed(self) -> bool:
        """Whether the deployed configuration is to be used, though another was as fast or faster in
        its trials."""
        return self._told is not None and self.to_use is not self._told.winner

    @property
    def is_compared(self) -> bool:
        """Whether what is to be used was measured in turns with what is deployed."""
        told, to_use = self._told, self.to_use
        return told is not None and to_use is not None and told.is_compared(to_use)

    @property
    def deployed_s(self) -> float | None:
        """Time of a launch in the deployed configuration, on the tuned device."""
        told = self._told
        return None if told is None or told.default is None else told.time_s(told.default)

    @property
    def best_s(self) -> float | None:
        """Time of a launch in the configuration to use."""
        told, to_use = self._told, self.to_use
        return None if told is None or to_use is None else told.time_s(to_use)

    @property
    def fastest_s(self) -> float | None:
        """The same, as if trials counted: by this the scheduler goes."""
        summary = None if self.result is None else self.result.summary
        if summary is None or summary.to_use is None:
            return None
        return summary.time_s(summary.to_use)

    @property
    def _told(self) -> Summary | None:
        """What its times are from: what was compared, as long as a faster trial was not."""
        if self.is_unconfirmed and self.compared is not None:
            return self.compared
        return None if self.result is None else self.result.summary

    def after(self, result: TuningResult, spent_s: float) -> TaskStanding:
        """The standing after one more run of its study."""
        return replace(
            self,
            result=result,
            tuning_s=self.tuning_s + spent_s,
            trials=self.trials + result.ended.measured,
            quiet=self.quiet + 1 if result.outlook.is_quiet else 0,
            exhausted=result.ended.tried >= self.size,
            compared=self.compared if result.summary.comparison is None else result.summary,
        )


def states_of(standings: Sequence[TaskStanding], *, confirmed: bool = False) -> list[TaskState]:
    """What the scheduler is told; with `confirmed`, the user, for whom trials alone show no gain.

    A task that was not measured on the device yet has its captured time, scaled as the measured
    tasks' times are: another machine may have captured the program.
    """
    scale = _scale(standings)
    captured_s = [scale * s.task.captured_s for s in standings if s.task.captured_s]
    measured_s = [s.deployed_s for s in standings if s.deployed_s]
    usual_s = statistics.median(measured_s or captured_s or [1.0])
    return [
        _state(one, scale, usual_s, one.best_s if confirmed else one.fastest_s) for one in standings
    ]


def program_times_s(standings: Sequence[TaskStanding]) -> tuple[float, float]:
    """The time of a run of the program in its tasks: deployed, and with the best configurations.

    Of tasks that were not measured yet, what `states_of` supposes.
    """
    states = states_of(standings, confirmed=True)
    before_s = sum(state.launches * state.deployed_s for state in states)
    after_s = sum(state.launches * state.best_s for state in states)
    return before_s, after_s


def measured_share(standings: Sequence[TaskStanding]) -> float:
    """The part of the program's deployed time that is in tasks measured on the device, 0 to 1."""
    times_s = [state.launches * state.deployed_s for state in states_of(standings)]
    measured_s = sum(
        time_s
        for time_s, standing in zip(times_s, standings, strict=True)
        if standing.deployed_s is not None
    )
    return measured_s / (sum(times_s) or 1.0)


def _state(
    standing: TaskStanding, scale: float, usual_s: float, known_s: float | None
) -> TaskState:
    task, result = standing.task, standing.result
    supposed_s = usual_s if task.captured_s is None else scale * task.captured_s
    best_s = known_s or supposed_s
    deployed_s = standing.deployed_s or max(best_s, supposed_s)
    return TaskState(
        launches=task.launches,
        deployed_s=deployed_s,
        best_s=min(best_s, deployed_s),
        tried=standing.tried,
        size=standing.size,
        family=task.kernel,
        expected_gain=None if result is None else result.outlook.expected_gain,
        trial_s=standing.tuning_s / standing.trials if standing.trials else None,
        is_done=standing.is_done,
        waits=standing.waits,
    )


def _scale(standings: Sequence[TaskStanding]) -> float:
    """How many times slower than in the capture a launch is on the device.

    Half of the measured time on the device is of tasks with a smaller ratio. One kernel that was
    launched once and read from its file then, for milliseconds, says nothing about others. Tasks
    so short that their captured time tells little of the kernel are left out; 1 if none is left.
    """
    known = sorted(
        (standing.deployed_s / captured_s, standing.task.launches * standing.deployed_s)
        for standing in standings
        if standing.deployed_s and (captured_s := standing.task.captured_s or 0.0) >= _LONG_S
    )
    if not known:
        return 1.0
    ratios, times_s = zip(*known, strict=True)
    sums_s = list(itertools.accumulate(times_s))
    return float(ratios[bisect.bisect_left(sums_s, sums_s[-1] / 2)])

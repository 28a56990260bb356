"""Which part of a program its Triton kernels are, so what tuning them can bring to it."""

from __future__ import annotations

from dataclasses import dataclass

from engine.results.units import speedup_text, time_text
from kernels.captured.task import Task
from kernels.captured.task_file import Capture

__all__ = [
    "ProgramShare",
    "WholeProgram",
    "is_launch_bound",
    "program_share",
    "share_text",
]

# What Triton takes on a CPU of today to launch a kernel on a GPU, at most.
_LAUNCH_S = 50e-6
_ONCE = "start, compiling and autotuning"
_HOST = "host"


@dataclass(frozen=True)
class ProgramShare:
    """The kernels' part of a captured run.

    Args:
        kernels_s: time of all launches, in seconds, without what Python takes to launch.
        steady_s: what the run took without start, compiling and autotuning, in seconds.
        ran_s: what all of it took.
        heaviest: name and time of the kernel that took the longest.
        device: that the kernels ran on.
        is_bound: whether launches were too short to be timed apart from launching.
    """

    kernels_s: float
    steady_s: float
    ran_s: float
    heaviest: tuple[str, float]
    device: str
    is_bound: bool

    @property
    def percent(self) -> str:
        """That share, for people."""
        return f"{'at most ' if self.is_bound else ''}{_percent(self.steady)}"

    @property
    def is_on_host(self) -> bool:
        """Whether the kernels ran on a processor."""
        return self.device == _HOST

    @property
    def where(self) -> str:
        """The device, for people."""
        return "the processor" if self.is_on_host else self.device

    @property
    def steady(self) -> float:
        """The kernels' share of `steady_s`; those of several threads or streams may overlap."""
        return min(1.0, self.kernels_s / self.steady_s)


def program_share(captured: Capture) -> ProgramShare | None:
    """The kernels' part of a captured run; None if it was not timed."""
    if not captured.time_s or not captured.steady_s or not captured.ran_s:
        return None
    times_s: dict[str, float] = {}
    for task in captured.tasks:
        times_s[task.kernel.name] = times_s.get(task.kernel.name, 0.0) + (task.time_s or 0.0)
    return ProgramShare(
        kernels_s=captured.time_s,
        steady_s=captured.steady_s,
        ran_s=captured.ran_s,
        heaviest=max(times_s.items(), key=lambda item: item[1]),
        device=captured.tasks[0].device,
        is_bound=any(map(is_launch_bound, captured.tasks)),
    )


def is_launch_bound(task: Task) -> bool:
    """Whether the launches of a task are so short that a GPU's events time launching, too."""
    # Those of the host are timed without their launch.
    is_gpu = task.time_s is not None and task.device != _HOST
    return is_gpu and (task.time_s or 0.0) < _LAUNCH_S * task.launches


def share_text(captured: Capture) -> str:
    """That part, and what tuning can bring at most, for people; "" if it was not timed."""
    share = program_share(captured)
    if share is None:
        return ""
    name, heaviest_s = share.heaviest
    alone = bound = whole = ""
    if heaviest_s < share.kernels_s:
        alone = f" ({name} alone {_percent(min(share.steady, heaviest_s / share.steady_s))})"
    if share.steady < 1.0:
        most = 1.0 / (1.0 - share.steady)
        bound = f", so tuning can make it at most {most:.2f} times as fast"
    if share.kernels_s <= share.ran_s:
        part = _percent(share.kernels_s / share.ran_s)
        whole = f"; they took {part} of the whole {time_text(share.ran_s)}"
    return (
        f"without {_ONCE}, the program took {time_text(share.steady_s)}, {share.percent} of it in "
        f"these kernels on {share.where}{alone}{bound}{whole}"
    )


@dataclass(frozen=True)
class WholeProgram:
    """The program around its tuned kernels.

    Args:
        share: of the kernels in the captured run.
        device: that the kernels are tuned for.
        is_alike: whether that is of the kind on which the program was captured. Else it is not
            known what the rest of the program takes there.
    """

    share: ProgramShare
    device: str
    is_alike: bool

    def speedup(self, kernels: float) -> float | None:
        """An estimate by Amdahl's law, start, compiling and autotuning left out; None where the
        kernels' share is not known.

        Args:
            kernels: how much faster the kernels run.
        """
        if not self.is_alike:
            return None
        return 1.0 / (1.0 - self.share.steady + self.share.steady / kernels)

    def text(self, kernels: float) -> str:
        """The same for people."""
        share, speedup = self.share, self.speedup(kernels)
        if speedup is None:
            return (
                f"their share of the whole program is not known on {self.device}: on {share.where} "
                f"it was {share.percent}, without {_ONCE}"
            )
        return (
            f"the whole program, without {_ONCE}: {speedup_text(speedup)}, an estimate, since "
            f"these kernels were {share.percent} of its time in the capture"
        )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"

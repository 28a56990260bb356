"""What a run of a study is asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.repeats.rounds import ALL_ROUNDS, Rounds
from engine.run.budget import EndingBuilds
from engine.study.location import DEFAULT_STORAGE
from engine.study.objectives import TIME_S, Robust
from foundation.processors import cores
from foundation.shapes import Shape
from kernels.spec import OWN_OUTPUTS, Outputs
from rvv_runner.devices import DEFAULT_DEVICE

__all__ = [
    "DEFAULT_TRIALS",
    "SearchOptions",
    "StudyOptions",
    "TuningRequest",
    "WorkOptions",
]

DEFAULT_TRIALS = 50


@dataclass(frozen=True)
class SearchOptions:
    """How configurations are proposed, and how many.

    Args:
        sampler: a name in `engine.search.samplers.registry.SAMPLERS`, or the dotted name of an
            Optuna sampler class.
        trials: distinct configurations to try in the study, earlier runs included; None for every
            valid one.
        timeout_s: start no new trials after this many seconds; None for no limit.
        ending_builds: which builds end then, too, as in `Budget`.
        seed: of the sampler.
        until_converged: stop when the surrogate predicts no further improvement.
        rounds: in which the leaders are measured in turns at the end of a run, on a board whose
            times vary; `NO_ROUNDS` for a run that another one follows.
    """

    sampler: str = "auto"
    trials: int | None = DEFAULT_TRIALS
    timeout_s: float | None = None
    seed: int = 0
    until_converged: bool = False
    rounds: Rounds = ALL_ROUNDS
    ending_builds: EndingBuilds = "none"


@dataclass(frozen=True)
class StudyOptions:
    """Where a study is stored and what it optimises.

    Args:
        storage: a journal file or an Optuna URL.
        name: the study's name; None for one made from the problem.
        use_history: whether a new study warm-starts from an earlier one.
        objectives: names of the objectives to minimise, the time first.
        robust: on a board that is estimated under a family of models, what is minimised; None for
            what the study minimised before, and the mean in a new one.
    """

    storage: str = DEFAULT_STORAGE
    name: str | None = None
    use_history: bool = True
    objectives: tuple[str, ...] = (TIME_S,)
    robust: Robust | None = None


@dataclass(frozen=True)
class WorkOptions:
    """Where configurations are built.

    Args:
        jobs: parallel builds; one per core by default.
        ray_address: of a Ray cluster to build on; None for this machine.
    """

    jobs: int = field(default_factory=cores)
    ray_address: str | None = None


@dataclass(frozen=True)
class TuningRequest:
    """One study: its problem, its boards, and how to search.

    Args:
        kernel: registered name, or the path of a Python file.
        shapes: sizes that differ from the kernel's default. With several shapes, the study looks
            for the configuration with the lowest geometric-mean time over all of them.
        dtype: element type; None for the kernel's first.
        devices: names of boards of one kind.
        outputs: the type and tolerances required of the kernel's outputs.
        space: name of the search space, if it is not the kernel's own.
        repeats: timed runs of a measurement on a board whose times vary; None for ten.
        search, study, work: the options of each.
    """

    kernel: str
    shapes: tuple[Shape, ...] = ({},)
    dtype: str | None = None
    devices: Sequence[str] = (DEFAULT_DEVICE,)
    outputs: Outputs = OWN_OUTPUTS
    space: str = ""
    repeats: int | None = None
    search: SearchOptions = field(default_factory=SearchOptions)
    study: StudyOptions = field(default_factory=StudyOptions)
    work: WorkOptions = field(default_factory=WorkOptions)

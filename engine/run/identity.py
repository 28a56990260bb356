"""The identity of a study today: what it is about, and what its times were made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.study.identity import StudyIdentity
from engine.study.objectives import TIME_S
from engine.workers.artifacts import digest
from engine.workers.toolchain import toolchain_versions
from kernels.spec import Outputs, Problem
from rvv_runner.board import BoardInfo

__all__ = ["identity_of", "made_otherwise", "made_with"]


def identity_of(
    problem: Problem,
    info: BoardInfo,
    sampler: str,
    more_problems: Sequence[Problem] = (),
    objectives: tuple[str, ...] = (TIME_S,),
    seed: int = 0,
) -> StudyIdentity:
    """The identity of the study of a problem on a board, with today's code.

    Args:
        problem: the kernel at its shape, or at the first of several.
        info: of the board.
        sampler: its name.
        more_problems: in a study of several shapes, the kernel at the others.
        objectives: names of the objectives to minimise.
        seed: of the sampler.
    """
    return StudyIdentity(
        kernel=problem.spec.name,
        shape=problem.shape,
        dtype=problem.dtype,
        device=info.study_device,
        sampler=sampler,
        made_with=made_with(problem.spec.source_digest, info, problem.outputs),
        more_shapes=tuple(other.shape for other in more_problems),
        objectives=objectives,
        space_name=problem.space_name,
        kernel_file=problem.spec.file or "",
        seed=seed,
    )


def made_with(source: str, info: BoardInfo, outputs: Outputs) -> dict[str, str]:
    """What determines a kernel's times besides its problem, by a readable name.

    Args:
        source: digest of the kernel's source.
        info: of the board.
        outputs: the type and tolerances required of the outputs.
    """
    asked = str(outputs)
    return {
        "board model": info.kind,
        "compiler": digest(sorted(toolchain_versions(info.backend).items())),
        "kernel source": source,
        **({"choice of outputs": asked} if asked else {}),
        **({"prefetches": info.prefetch} if info.prefetch else {}),
    }


def made_otherwise(
    identity: StudyIdentity, others: Iterable[tuple[str, Mapping[str, object]]]
) -> dict[str, tuple[str, ...]]:
    """The studies of the same problem, by name, and what else determined their times.

    Args:
        identity: of a study.
        others: name and attributes of each other study in its storage.
    """
    parts = {name: identity.other_parts(name, attributes) for name, attributes in others}
    return {name: parts[name] for name in sorted(parts) if parts[name]}

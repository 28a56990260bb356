"""What made a study's trials, as stored with it: what one needs beside its seed to repeat a search.

A search on a deterministic board is the same again with the same sampler, seed and number of open
proposals, on the same versions.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import engine.search
from engine.study.trials import StoredTrials
from engine.workers.toolchain import toolchain_versions
from foundation.version import project_version
from rvv_runner.board import BoardInfo
from search_spaces.space import SearchSpace
from triton_rvv.runtime.qemu import QemuError, find_qemu, qemu_version
from triton_rvv.version import folder_digest

__all__ = ["OpenProposals", "keep_run", "runs_of", "sampler_digest"]

_RUNS = "runs"  # name of the study's attribute
_FROM = "from_trial"

# What a sampler computes with, beside the toolchain.
_PACKAGES = ("numpy", "scipy", "optuna", "torch")


@dataclass(frozen=True)
class OpenProposals:
    """How many proposals are open together: builds, and measurements, at once."""

    jobs: int
    boards: int


def sampler_digest() -> str:
    """Of the sources of the search, which hold the parameters of this project's samplers."""
    return folder_digest(Path(engine.search.__path__[0]))


def keep_run(
    stored: StoredTrials,
    sampler: str,
    space: SearchSpace,
    configurations: int,
    proposals: OpenProposals,
    info: BoardInfo,
) -> None:
    """Store with a study what makes its next trials, unless that made the last ones.

    Args:
        stored: the study.
        sampler: its name; of a class of another package, that package's version is stored too.
        space: where it searches.
        configurations: how many valid ones there are.
        proposals: how many are open together.
        info: of the board.
    """
    made_by = {
        "jobs": proposals.jobs,
        "boards": proposals.boards,
        "configurations": configurations,
        "space_digest": _space_digest(space),
        "sampler_digest": sampler_digest(),
        "versions": _versions(sampler, info),
    }
    earlier = runs_of(stored)
    if not earlier or {**earlier[-1], _FROM: 0} != {**made_by, _FROM: 0}:
        begun = {_FROM: len(stored.trials_of(stored.study_name)), **made_by}
        stored.set_attribute(_RUNS, [*map(dict, earlier), begun])


def runs_of(stored: StoredTrials) -> Sequence[Mapping[str, object]]:
    """What `keep_run` stored, the first first; `from_trial` is the number of the first trial."""
    rows = stored.attribute(_RUNS)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _space_digest(space: SearchSpace) -> str:
    """Of the parameters with their values, the names of the rules, and the default."""
    parameters = [(each.name, each.values) for each in space.parameters]
    rules = [rule.name for rule in (*space.constraints, *space.guesses)]
    default = None if space.default is None else sorted(space.default.items())
    return hashlib.sha256(repr((parameters, rules, default)).encode()).hexdigest()[:16]


def _versions(sampler: str, info: BoardInfo) -> dict[str, str]:
    found = {"tuner": project_version(), "python": platform.python_version()}
    package = [sampler.partition(".")[0]] if "." in sampler else []
    for name in dict.fromkeys((*_PACKAGES, *package)):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    tools = toolchain_versions(info.backend)
    found |= {name: tools[name] for name in ("triton", "llvmlite", "ziglang") if name in tools}
    if "llvmlite" in found:
        import llvmlite.binding

        found["llvm"] = ".".join(map(str, llvmlite.binding.llvm_version_info))
    if info.estimated:
        with contextlib.suppress(QemuError):  # the board says so when it is opened
            found["qemu"] = ".".join(map(str, qemu_version(find_qemu())))
    return found

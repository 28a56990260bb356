"""Times builds, from a configuration to its ELF:
python benchmarks/compiler/bench_build.py [KERNEL ...]

Processor time, the linker's included, of random configurations of every kernel at its default
shape, after a first build of each has imported and warmed up what all need.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.command_line import run_script
from foundation.config import Config
from kernels.registry import kernel_names, load_kernel, make_problem
from rvv_runner import ElfArtifact
from rvv_runner.devices import load_board

__all__ = ["Build", "build_times", "sampled_configs"]

SAMPLE = 10
# Milliseconds to reach, as a mean and at the 95th percentile.
GOAL_MS, GOAL_P95_MS = 90, 180


@dataclass(frozen=True)
class Build:
    """Seconds of one build: processor time in total, and time that passed in each stage."""

    processor_s: float
    stages_s: Mapping[str, float]


def sampled_configs(kernel: str, count: int) -> list[Config]:
    """Random configurations of a kernel at its default shape on the emulated board."""
    problem = make_problem(load_kernel(kernel), {})
    configs = list(problem.space(load_board("emulated").info).valid_configs())
    return random.Random(0).sample(configs, min(count, len(configs)))


def build_times(kernel: str, configs: Sequence[Config]) -> list[Build]:
    """Build configurations for the emulated board, one after another in an empty store."""
    problem = make_problem(load_kernel(kernel), {})
    target = load_board("emulated").info.target
    builds = []
    with tempfile.TemporaryDirectory() as folder:
        store = ArtifactStore(Path(folder).resolve())
        builder = KernelBuilder(BuildRequest(kernel, problem.shape, problem.dtype, target, store))
        for config in configs:
            start_s = _processor_s()
            built = builder.build(config)
            processor_s = _processor_s() - start_s
            if not isinstance(built, ElfArtifact):
                raise SystemExit(f"{kernel} {config} does not build: {built.reason}")
            stages_s = built.provenance["stages_s"]
            assert isinstance(stages_s, Mapping)
            builds.append(Build(processor_s, stages_s))
    return builds


def _processor_s() -> float:
    """Seconds of processor time of this process and of children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def report(name: str, builds: Sequence[Build], note: str = "") -> None:
    """Print one line: processor time, then the stages' part of the time that passed."""
    times_ms = [build.processor_s * 1e3 for build in builds]
    p95_ms = statistics.quantiles(times_ms, n=20, method="inclusive")[-1]
    total_s = {
        stage: sum(build.stages_s[stage] for build in builds) for stage in builds[0].stages_s
    }
    parts = ", ".join(
        f"{stage} {passed_s / sum(total_s.values()):.0%}" for stage, passed_s in total_s.items()
    )
    print(
        f"{name}: mean {statistics.mean(times_ms):.0f} ms, "
        f"median {statistics.median(times_ms):.0f}, "
        f"95th percentile {p95_ms:.0f}, of {len(builds)} ({parts}){note}",
        flush=True,
    )


def main() -> None:
    """Print a line for each kernel, and one for all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="otherwise all")
    chosen = parser.parse_args().kernels
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    print("processor time of a build on one core:")
    total: list[Build] = []
    for kernel in chosen or kernel_names():
        first, *configs = sampled_configs(kernel, SAMPLE + 1)
        _, *builds = build_times(kernel, [first, *configs])
        report(kernel, builds)
        total += builds
    report("all", total, f"; to reach: {GOAL_MS} and {GOAL_P95_MS}")


if __name__ == "__main__":
    run_script(main)

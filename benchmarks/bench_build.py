"""Times builds, from a configuration to its ELF: python benchmarks/bench_build.py."""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from kernels.registry import load_kernel, make_problem
from rvv_runner import ElfArtifact
from rvv_runner.devices import load_board

__all__ = ["build_times"]

SHAPE = {"M": 256, "N": 512, "K": 256}
SAMPLE = 60
REPETITIONS = 10


@dataclass(frozen=True)
class Build:
    """Seconds of one build, in total and per stage."""

    time_s: float
    stages_s: Mapping[str, float]


def build_times(configs: Sequence[Config]) -> list[Build]:
    """Build each configuration once with warm caches and an empty store."""
    builds = []
    with tempfile.TemporaryDirectory() as folder:
        for number, config in enumerate(configs):
            store = ArtifactStore(Path(folder, str(number)).resolve())
            target = load_board("emulated").info.target
            builder = KernelBuilder(BuildRequest("matmul", SHAPE, "fp32", target, store))
            start_s = time.perf_counter()
            built = builder.build(config)
            time_s = time.perf_counter() - start_s
            if not isinstance(built, ElfArtifact):
                raise SystemExit(f"{dict(config)} does not build: {built.reason}")
            stages_s = built.provenance["stages_s"]
            assert isinstance(stages_s, Mapping)
            builds.append(Build(time_s, stages_s))
    return builds


def report(name: str, builds: Sequence[Build]) -> None:
    """Print one line: the total, then the stages, in milliseconds."""
    times_ms = [build.time_s * 1e3 for build in builds]
    p95_ms = statistics.quantiles(times_ms, n=20, method="inclusive")[-1]
    stages = ", ".join(
        f"{stage} {statistics.median(build.stages_s[stage] for build in builds) * 1e3:.0f}"
        for stage in builds[0].stages_s
    )
    print(
        f"{name}: median {statistics.median(times_ms):.0f} ms, 95th percentile {p95_ms:.0f}, "
        f"largest {max(times_ms):.0f}, of {len(builds)} (medians of the stages: {stages})"
    )


def main() -> None:
    """Print the times for a sample of the space, the default and the largest block."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    problem = make_problem(load_kernel("matmul"), SHAPE, "fp32")
    space = problem.space(load_board("emulated").info)
    configs = list(space.valid_configs())
    default = problem.default_config
    build_times([default] * 2)  # imports, and the linker's libc
    sample = random.Random(0).sample(configs, min(SAMPLE, len(configs)))
    largest = max(configs, key=_elements)
    print("matmul to ELF on one core, warm caches:")
    report(f"{len(sample)} of {len(configs)} configurations", build_times(sample))
    for name, config in (("default", default), ("largest block", largest)):
        values = "x".join(map(str, config.values()))
        report(f"{name} {values}", build_times([config] * REPETITIONS))


def _elements(config: Config) -> int:
    m, n, k = (int(config[f"BLOCK_SIZE_{name}"]) for name in "MNK")
    return m * k + k * n + m * n


if __name__ == "__main__":
    main()

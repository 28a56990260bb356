"""Times the road from a configuration to its ELF: python benchmarks/bench_build.py."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from engine.artifacts import ArtifactStore
from engine.build import BuildRequest, KernelBuilder
from rvv_runner import Artifact
from search_spaces.config import Config
from triton_rvv.target import RVVTarget

__all__ = ["build_times_s"]

REPETITIONS = 20
SHAPE = {"M": 256, "N": 512, "K": 256}
BLOCKS = ((16, 32, 16), (16, 16, 16), (64, 64, 32), (256, 128, 64))


def build_times_s(block: tuple[int, int, int]) -> tuple[list[float], Mapping[str, float]]:
    """Seconds of each of a number of builds on warm caches, and the median of every stage."""
    times_s, stages = [], []
    with tempfile.TemporaryDirectory() as folder:
        for attempt in range(REPETITIONS + 1):
            # Each build has a store of its own, so that none is found instead of made.
            store = ArtifactStore(Path(folder, str(attempt)).resolve())
            target = RVVTarget(cpu="spacemit-x60")
            builder = KernelBuilder(BuildRequest("matmul", SHAPE, "fp32", target, store))
            start_s = time.perf_counter()
            built = builder.build(_config(block))
            times_s.append(time.perf_counter() - start_s)
            if not isinstance(built, Artifact):
                raise SystemExit(f"the kernel does not build: {built.reason}")
            stages.append(built.provenance["stages_s"])
    medians = {name: statistics.median(stage[name] for stage in stages[1:]) for name in stages[0]}
    return times_s[1:], medians


def _config(block: tuple[int, int, int]) -> Config:
    m, n, k = block
    return Config({"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8})


def main() -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    for block in BLOCKS:
        times_s, stages = build_times_s(block)
        parts = ", ".join(f"{name} {seconds * 1e3:.0f}" for name, seconds in stages.items())
        print(
            f"matmul {'x'.join(map(str, block))} to ELF on one core, warm: median "
            f"{statistics.median(times_s) * 1e3:.0f} ms, largest {max(times_s) * 1e3:.0f} ms, "
            f"of {REPETITIONS} (stages in ms: {parts})"
        )


if __name__ == "__main__":
    main()

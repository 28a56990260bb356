"""Figures of tuning on a GPU, beside the goals: python benchmarks/gpu/bench_gpu.py [PART ...]."""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch
import triton
from gpu_others import (
    ATTENTION,
    DESCRIPTORS,
    OTHERS,
    PRODUCTS,
    SPLIT_K,
    THREE_PRODUCTS,
    Other,
)
from gpu_own_files import OWN_FILES, tuned
from gpu_references import scaled_product_s
from gpu_studies import Clocked, clocked, cold_caches

from engine.replays.on_gpus import origin_of, recorded_on_gpus
from engine.workers.devices import every_device, load_board
from foundation.shapes import shape_text
from kernels.matmul import matmul_kernel
from kernels.registry import load_kernel, make_problem

TRIALS = 60
LARGE = {"M": 4096, "N": 4096, "K": 4096}

SAMPLED_CONFIGS = 24  # of the list for triton.autotune, whose whole would take an hour


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parts = parser.parse_args().parts or list(PARTS)
    if not torch.cuda.is_available():
        print("it needs a GPU that torch can use")
        return
    print(_machine())
    for part in parts:
        PARTS[part]()


def _machine() -> str:
    """GPU, driver, clocks and versions, for the figures' heading."""
    fields = "name,driver_version,clocks.max.sm,clocks.max.mem"
    shown = subprocess.run(
        ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    versions = f"Triton {triton.__version__}, torch {torch.__version__}"
    return f"{time.strftime('%Y-%m-%d')}: {'; '.join(shown)}; {versions}"


def _beside_torch(some: Sequence[Other]) -> None:
    """Tune kernels, each from cold caches, and print their times beside torch's."""
    for other in some:
        storage = cold_caches() / "bench.journal"
        study = clocked(
            other.kernel, [other.shape], other.dtype, trials=other.trials, storage=storage
        )
        torch_s = other.torch_s()
        goal = "" if other.goal is None else f" (goal {other.goal:.2f})"
        print(
            f"{other.kernel} {shape_text(other.shape)} {other.dtype}: {_ms(study.winner_s)}, "
            f"{_part_of_recorded(other, study)}{torch_s / study.winner_s:.2f} times torch's "
            f"{_ms(torch_s)}{goal}; {_clock(study)}"
        )


def _part_of_recorded(other: Other, study: Clocked) -> str:
    """How near the winner is to the best of a space that was recorded on such a GPU.

    Both times are of the recording, since times differ by percents from one GPU to another.
    """
    asked = other.kernel, dict(other.shape), other.dtype, torch.cuda.get_device_name()
    for recorded in recorded_on_gpus():
        origin = origin_of(recorded)
        if origin.board.gpu is None:
            continue
        winner_s = recorded.table.get(study.winner)
        of = origin.kernel, dict(origin.shape), origin.dtype, origin.board.gpu.name
        if of == asked and winner_s is not None:
            part = recorded.optimum_s / winner_s
            return f"recorded at {part:.1%} of the best of {len(recorded.table):,}, "
    return ""


def autotune() -> None:
    """What triton.autotune takes for the list that the search space holds, by a sample of it."""
    shape = LARGE
    cold_caches()
    problem = make_problem(load_kernel("matmul"), shape, "fp16")
    configs = list(problem.space(load_board("cuda").info).valid_configs())
    sample = configs[:: max(len(configs) // SAMPLED_CONFIGS, 1)][:SAMPLED_CONFIGS]
    options = ("num_warps", "num_stages")
    listed = [
        triton.Config(
            {name: value for name, value in config.items() if name not in options},
            **{name: int(config[name]) for name in options},
        )
        for config in sample
    ]
    kernel = triton.autotune(listed, key=["M", "N", "K"])(matmul_kernel)
    a, b, c = (torch.randn(4096, 4096, device="cuda", dtype=torch.float16) for _ in range(3))
    start_s = time.monotonic()
    kernel[
        lambda meta: (
            triton.cdiv(4096, meta["BLOCK_SIZE_M"]) * triton.cdiv(4096, meta["BLOCK_SIZE_N"]),
        )
    ](a, b, c, 4096, 4096, 4096, 4096, 1, 4096, 1, 4096, 1)
    torch.cuda.synchronize()
    took_s = time.monotonic() - start_s
    print(
        f"triton.autotune: {took_s:.0f} s for {len(listed)} configurations of the list, so about "
        f"{took_s / len(listed) * len(configs):.0f} s for its {len(configs)} (estimated)"
    )


def blockscale() -> None:
    """The product of fp8 with a scale for each block."""
    shape = {"M": 32, "N": 4096, "K": 7168}
    study = clocked(
        "gemm_a8w8_blockscale",
        [shape],
        "fp8e4nv",
        trials=TRIALS,
        storage=cold_caches() / "bench.journal",
    )
    vendor_s = scaled_product_s(32, 4096, 7168)
    print(f"gemm_a8w8_blockscale {shape_text(shape)}: {_ms(study.winner_s)}; {_clock(study)}")
    if vendor_s is not None:
        times = vendor_s / study.winner_s
        print(f"  {times:.2f} times torch's _scaled_mm, {_ms(vendor_s)} (goal 1.3)")


def own_files() -> None:
    """Kernels in files of their own, beside triton.autotune over the same lists, and torch."""
    for path in OWN_FILES:
        own = tuned(path)
        print(
            f"{own.name}: {_ms(own.study_s)} in {own.study.wall_s:.1f} s; triton.autotune "
            f"{_ms(own.autotune_s)} in {own.autotune_wall_s:.1f} s for all {own.listed}, "
            f"{own.autotune_config}; {own.torch_s / own.study_s:.2f} times torch's "
            f"{_ms(own.torch_s)}; {_clock(own.study)}"
        )


def eight_shapes() -> None:
    """Eight M of one N and K in one study, beside one M."""
    shapes = [{"M": m, "N": 4096, "K": 4096} for m in (16, 32, 64, 128, 256, 512, 1024, 2048)]
    walls_s = []
    for some in (shapes[4:5], shapes):
        study = clocked(
            "matmul", some, "fp16", trials=TRIALS, storage=cold_caches() / "bench.journal"
        )
        walls_s.append(study.wall_s)
    print(
        f"8 M of N=4096,K=4096: {walls_s[1]:.1f} s beside {walls_s[0]:.1f} s for one, "
        f"{walls_s[1] / walls_s[0]:.2f} times (goal 1.5)"
    )


def gpus() -> None:
    """Configurations a second on every GPU, beside one; each GPU has its share of the builders."""
    devices = every_device("cuda:all")
    processors = sorted(os.sched_getaffinity(0))
    share = len(processors) // len(devices)
    builders = max(share - 1, 1)
    rates = []
    for names in (devices[:1], devices):
        # One GPU has its share of the processors, as its builders have.
        os.sched_setaffinity(0, processors[: share * len(names)])
        study = clocked(
            "matmul",
            [LARGE],
            "fp16",
            trials=4 * TRIALS,
            device=",".join(names),
            jobs=builders * len(names),
            storage=cold_caches() / "bench.journal",
        )
        rates.append(study.configs_a_second)
        print(f"{len(names)} GPUs, {builders * len(names)} builders: {_clock(study)}")
    if len(devices) > 1:
        print(f"{len(devices)} GPUs: {rates[1] / rates[0]:.2f} times the rate of one (goal 1.8)")


def _clock(study: Clocked) -> str:
    waits = ", ".join(f"{wait_s:.1f} s for {cause}" for cause, wait_s in study.waits_s.items())
    near_s = next((s for s, best in study.best if best <= 1.02 * study.best[-1][1]), study.wall_s)
    return (
        f"{study.wall_s:.1f} s of wall time, {study.configs_a_second:.1f} configurations a second, "
        f"GPU idle {study.idle:.0%} after the first ({waits}), 98% of its best after "
        f"{near_s:.1f} s: {study.winner}"
    )


def _ms(time_s: float) -> str:
    return f"{1e3 * time_s:.4f} ms"


PARTS: dict[str, Callable[[], None]] = {
    "matmul": partial(_beside_torch, THREE_PRODUCTS),
    "split-k": partial(_beside_torch, SPLIT_K),
    "descriptors": partial(_beside_torch, DESCRIPTORS),
    "blockscale": blockscale,
    "attention": partial(_beside_torch, ATTENTION),
    "other-products": partial(_beside_torch, PRODUCTS),
    "others": partial(_beside_torch, OTHERS),
    "own-files": own_files,
    "eight-shapes": eight_shapes,
    "autotune": autotune,
    "gpus": gpus,
}


if __name__ == "__main__":
    main()

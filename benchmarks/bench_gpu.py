"""Figures of tuning on a GPU, beside the goals: python benchmarks/bench_gpu.py [PART ...]."""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable, Sequence

import torch
import triton
from gpu_others import OTHERS, PRODUCTS, Other
from gpu_own_files import OWN_FILES, tuned
from gpu_references import attention_s, product_s, scaled_product_s
from gpu_studies import Clocked, clocked, cold_caches

from engine.workers.devices import every_device, load_board
from foundation.processors import cores
from foundation.shapes import Shape, shape_text
from kernels.matmul import matmul_kernel
from kernels.registry import load_kernel, make_problem

TRIALS = 60
LARGE = {"M": 4096, "N": 4096, "K": 4096}
SKINNY = ({"M": 64, "N": 8192, "K": 4096}, {"M": 1024, "N": 1024, "K": 8192})

# Best times in milliseconds of all 1,800 configurations on an NVIDIA H200: blocks of 16 to 256, of
# 32 to 128 along K, groups of 1 and 8, 2 to 8 warps, 1 to 4 stages; Triton 3.6, SM clock 1980 MHz.
BEST_OF_ALL_MS = {"NVIDIA H200": {4096: 0.191, 64: 0.0280, 1024: 0.0337}}

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


def matmul() -> None:
    """The three shapes, each from cold caches."""
    best = BEST_OF_ALL_MS.get(torch.cuda.get_device_name(), {})
    for shape in (LARGE, *SKINNY):
        study = clocked(
            "matmul", [shape], "fp16", trials=TRIALS, storage=cold_caches() / "bench.journal"
        )
        vendor_s = product_s(**{name.lower(): size for name, size in shape.items()})
        known = best.get(shape["M"])
        part = "" if known is None else f"{known / study.winner_s / 1e3:.1%} of the best of 1,800, "
        print(
            f"matmul {shape_text(shape)}: {_ms(study.winner_s)}, {part}"
            f"{vendor_s / study.winner_s:.2f} times torch's {_ms(vendor_s)}; {_clock(study)}"
        )


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


def split_k() -> None:
    """The skinny shapes with the sums split over programs."""
    for shape in SKINNY:
        _product("split_k_matmul", shape, 3 * TRIALS)  # its space is six times as large


def descriptors() -> None:
    """The kernel that loads by descriptors, where plain or split products fall short of torch's."""
    for shape in (LARGE, SKINNY[1]):
        _product("persistent_matmul", shape, 2 * TRIALS)  # its space is twice as large


def _product(kernel: str, shape: Shape, trials: int) -> None:
    """Tune a kernel of fp16 products at a shape, and print its time beside torch's."""
    storage = cold_caches() / "bench.journal"
    study = clocked(kernel, [shape], "fp16", trials=trials, storage=storage)
    vendor_s = product_s(**{name.lower(): size for name, size in shape.items()})
    print(
        f"{kernel} {shape_text(shape)}: {_ms(study.winner_s)}, "
        f"{vendor_s / study.winner_s:.2f} times torch's {_ms(vendor_s)} (goal 1.00); "
        f"{_clock(study)}"
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


def attention() -> None:
    """Flash attention forward."""
    shape = {"Z": 4, "H": 32, "N_CTX": 4096, "D_HEAD": 128}
    study = clocked(
        "flash_attention_fwd",
        [shape],
        "fp16",
        trials=TRIALS,
        storage=cold_caches() / "bench.journal",
    )
    vendor_s = attention_s(4, 32, 4096, 128)
    print(
        f"flash_attention_fwd {shape_text(shape)}: {_ms(study.winner_s)}, "
        f"{vendor_s / study.winner_s:.2f} times torch's {_ms(vendor_s)} (goal 0.80); "
        f"{_clock(study)}"
    )


def other_products() -> None:
    """Products of shapes that nothing was chosen for, beside torch."""
    _beside_torch(PRODUCTS)


def others() -> None:
    """Other kernels at shapes that nothing was chosen for, beside torch."""
    _beside_torch(OTHERS)


def _beside_torch(some: Sequence[Other]) -> None:
    for other in some:
        study = clocked(
            other.kernel,
            [other.shape],
            other.dtype,
            trials=TRIALS,
            storage=cold_caches() / "bench.journal",
        )
        torch_s = other.torch_s()
        print(
            f"{other.kernel} {shape_text(other.shape)} {other.dtype}: {_ms(study.winner_s)}, "
            f"{torch_s / study.winner_s:.2f} times torch's {_ms(torch_s)}; {_clock(study)}"
        )


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
    builders = max(cores() // len(devices) - 1, 1)
    rates = []
    for names in (devices[:1], devices):
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
    near_s = next((s for s, best in study.best if best <= 1.02 * study.best[-1][1]), study.wall_s)
    return (
        f"{study.wall_s:.1f} s of wall time, {study.configs_a_second:.1f} configurations a second, "
        f"GPU idle {study.idle:.0%} after the first, 98% of its best after {near_s:.1f} s: "
        f"{study.winner}"
    )


def _ms(time_s: float) -> str:
    return f"{1e3 * time_s:.4f} ms"


PARTS: dict[str, Callable[[], None]] = {
    "matmul": matmul,
    "split-k": split_k,
    "descriptors": descriptors,
    "blockscale": blockscale,
    "attention": attention,
    "other-products": other_products,
    "others": others,
    "own-files": own_files,
    "eight-shapes": eight_shapes,
    "autotune": autotune,
    "gpus": gpus,
}


if __name__ == "__main__":
    main()

"""One generated token of a language model: python benchmarks/bench_language_model.py [CORES]

The kernels of a decoder with the shapes of Qwen2.5-0.5B (its config.json), weights of 4 bits, one
row of activations and a cache of 512 tokens. Each is measured alone, on an emulated X60, checked,
in its fastest of a few configurations. What lies between them (quantising activations, biases,
rotary embedding, sampling) is left out. So tokens/s are estimates, and an upper bound.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from foundation.shapes import shape_text
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import Board
from rvv_runner.devices import load_board

LAYERS = 24
HIDDEN, INNER, VOCABULARY = 896, 4864, 151936
RUN_LIMIT_S = 600.0
# Of the projection to the vocabulary, so many columns are measured, and the time is scaled.
PART = 9600
# A model's weights come from memory each time. Those of a small product would be in L2 still, from
# the run of the check, so as many such products side by side are measured as make up this size.
LEAST_WEIGHTS_BYTES = 4 << 20
WEIGHT_BYTES = 0.5 + 2 / 32


@dataclass(frozen=True)
class Step:
    """A kernel of a token.

    Args:
        kernel, shape, dtype: the problem.
        count: how often it runs for one token; of a part of a kernel, how many parts that is.
        configs: values of its parameters, of which the fastest counts.
    """

    kernel: str
    shape: Mapping[str, int]
    dtype: str
    count: float
    configs: Sequence[Mapping[str, int]]


_TILES = tuple({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": columns} for columns in (64, 128, 256))
_SPLITS = tuple(
    {"BLOCK_SIZE_N": keys, "SPLITS": splits} for keys, splits in ((64, 1), (64, 4), (32, 8))
)


def steps() -> list[Step]:
    """The kernels of one token."""
    row = {"M": 1}
    return [
        _product({"K": HIDDEN, "N": HIDDEN + 2 * 128}),  # query, key and value
        Step(
            "decode_attention",
            {"KV_HEADS": 2, "G": 7, "N_CTX": 512, "D_HEAD": 64},
            "fp16",
            LAYERS,
            _SPLITS,
        ),
        _product({"K": HIDDEN, "N": HIDDEN}),  # output of attention
        _product({"K": HIDDEN, "N": 2 * INNER}),  # gate and up
        Step(
            "swiglu", {"N": INNER}, "fp32", LAYERS, [{"BLOCK_SIZE": size} for size in (512, 1024)]
        ),
        _product({"K": INNER, "N": HIDDEN}),  # down
        Step(
            "add_rms_norm",
            {**row, "N": HIDDEN},
            "fp32",
            2 * LAYERS,
            [{"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": size} for size in (256, 1024)],
        ),
        _product({"K": HIDDEN, "N": PART}, VOCABULARY / PART),
    ]


def _product(shape: Mapping[str, int], count: float = LAYERS) -> Step:
    size_bytes = shape["N"] * shape["K"] * WEIGHT_BYTES
    together = ceil(LEAST_WEIGHTS_BYTES / size_bytes)
    wide = {"M": 1, "N": together * shape["N"], "K": shape["K"]}
    return Step("matmul_w4a8", wide, "i8", count / together, _TILES)


def measured(board: Board, step: Step) -> tuple[float, Config]:
    """The least time of a step, in s, and its configuration.

    Raises:
        SystemExit: for a kernel that does not build, or whose output is wrong.
    """
    problem = make_problem(load_kernel(step.kernel), step.shape, step.dtype)
    times = {}
    with tempfile.TemporaryDirectory() as name:
        store = ArtifactStore(Path(name).resolve())
        request = BuildRequest(
            problem.spec.load_name, problem.shape, problem.dtype, board.info.target, store
        )
        builder = KernelBuilder(request)
        for values in step.configs:
            built = builder.build(config := Config(values))
            if isinstance(built, BuildFailure):
                raise SystemExit(f"a kernel does not build: {built.reason}")
            found = board.measure(built, 1, RUN_LIMIT_S)
            if found.status != "correct" or found.time_s is None:
                raise SystemExit(f"{built.elf_path} is {found.status}: {found.reason}")
            times[config] = found.time_s
    fastest = min(times, key=times.__getitem__)
    return times[fastest], fastest


def main() -> None:
    cores = sys.argv[1] if sys.argv[1:] else "1"
    board = load_board("emulated" if cores == "1" else f"emulated@{cores}cores")
    board.open()
    print(f"one token on {cores} emulated X60 core(s); all times are estimates")
    print("| kernel | shape | configuration | time | times | all |")
    print("|---|---|---|---|---|---|", flush=True)
    total_s = 0.0
    for step in steps():
        time_s, config = measured(board, step)
        total_s += step.count * time_s
        values = " ".join(f"{name}={value}" for name, value in config.items())
        cells = (step.kernel, shape_text(step.shape), values, f"{time_s * 1e6:.1f} us")
        share = f"{step.count * time_s * 1e3:.2f} ms"
        print(f"| {' | '.join((*cells, f'{step.count:.4g}', share))} |", flush=True)
    print(
        f"\n{total_s * 1e3:.1f} ms a token: {1 / total_s:.1f} tokens/s, an upper bound (estimated)"
    )


if __name__ == "__main__":
    main()

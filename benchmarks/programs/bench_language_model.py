"""Tokens of a language model:
python benchmarks/programs/bench_language_model.py [--cores 1 4] [--prompt 64]
[--device emulated:x60-ime]

The kernels of a decoder with the shapes of Qwen2.5-0.5B (its config.json) and weights of 4 bits: of
one generated token, with a cache of 512 tokens, or of a prompt's tokens at once. Each is measured
alone, by default on an emulated X60, checked, in its fastest of a few configurations. Layers are
alike, so one of each kind is measured, and counted as often as there are. What lies between the
kernels (quantising activations, biases, rotary embedding, sampling) is left out, so tokens/s are an
upper bound; those of an emulated board are estimates.
"""

from __future__ import annotations

import argparse
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
from rvv_runner.devices import load_board, on_cores

LAYERS = 24
HIDDEN, INNER, VOCABULARY = 896, 4864, 151936
RUN_LIMIT_S = 600.0
HEADS, HEAD_SIZE, KV_HEADS = 14, 64, 2
# Of the projection to the vocabulary, so many columns are measured, and the time is scaled; of a
# product with many rows, whose time is that of its arithmetic, so many.
PART = 9600
PROMPT_PART = 512
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
        configs: values of its parameters, of which the fastest counts; the default where there
            are none.
    """

    kernel: str
    shape: Mapping[str, int]
    dtype: str
    count: float
    configs: Sequence[Mapping[str, int]] = ()


_TILES = tuple({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": columns} for columns in (32, 64, 128))
_BLOCKS = tuple({"BLOCK_SIZE_M": rows, "BLOCK_SIZE_N": 64} for rows in (16, 32))
_HEADS_AND_ELEMENTS = {"BLOCK_SIZE_M": 8, "BLOCK_SIZE_DMODEL": HEAD_SIZE}
_SPLITS = tuple(
    {**_HEADS_AND_ELEMENTS, "BLOCK_SIZE_N": keys, "SPLITS": splits}
    for keys, splits in ((64, 1), (64, 4), (32, 8))
)
_NORMS = tuple({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": size} for size in (256, 1024))
_GATES = tuple({"BLOCK_SIZE": size} for size in (512, 1024))
QUERIES = {"K": HIDDEN, "N": HIDDEN + 2 * KV_HEADS * HEAD_SIZE}  # with keys and values
OUTPUT = {"K": HIDDEN, "N": HIDDEN}
GATE_AND_UP = {"K": HIDDEN, "N": 2 * INNER}
DOWN = {"K": INNER, "N": HIDDEN}


def token_steps() -> list[Step]:
    """The kernels of one generated token."""
    cache = {"KV_HEADS": KV_HEADS, "G": HEADS // KV_HEADS, "N_CTX": 512, "D_HEAD": HEAD_SIZE}
    products = [_product(shape) for shape in (QUERIES, OUTPUT, GATE_AND_UP, DOWN)]
    return [
        *products,
        Step("decode_attention", cache, "fp16", LAYERS, _SPLITS),
        *_other_steps(1),
        _vocabulary(),
    ]


def prompt_steps(rows: int) -> list[Step]:
    """The kernels of a prompt's tokens at once; the vocabulary is for the last one alone."""
    products = [_prompt_product(shape, rows) for shape in (QUERIES, OUTPUT, GATE_AND_UP, DOWN)]
    heads = {"Z": 1, "H": HEADS, "N_CTX": rows, "D_HEAD": HEAD_SIZE}
    return [
        *products,
        Step("flash_attention_fwd_causal", heads, "fp16", LAYERS),
        *_other_steps(rows),
        _vocabulary(),
    ]


def _other_steps(rows: int) -> list[Step]:
    return [
        Step("swiglu", {"N": rows * INNER}, "fp32", LAYERS, _GATES),
        Step("add_rms_norm", {"M": rows, "N": HIDDEN}, "fp32", 2 * LAYERS, _NORMS),
    ]


def _vocabulary() -> Step:
    return _product({"K": HIDDEN, "N": PART}, VOCABULARY / PART)


def _product(shape: Mapping[str, int], count: float = LAYERS) -> Step:
    size_bytes = shape["N"] * shape["K"] * WEIGHT_BYTES
    together = ceil(LEAST_WEIGHTS_BYTES / size_bytes)
    wide = {"M": 1, "N": together * shape["N"], "K": shape["K"]}
    return Step("matmul_w4a8", wide, "i8", count / together, _TILES)


def _prompt_product(shape: Mapping[str, int], rows: int) -> Step:
    part = {"M": rows, "N": PROMPT_PART, "K": shape["K"]}
    return Step("matmul_w4a8", part, "i8", LAYERS * shape["N"] / PROMPT_PART, _BLOCKS)


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
        for config in map(Config, step.configs) if step.configs else [problem.default_config]:
            built = builder.build(config)
            if isinstance(built, BuildFailure):
                raise SystemExit(f"a kernel does not build: {built.reason}")
            found = board.measure(built, 1, RUN_LIMIT_S)
            if found.status != "correct" or found.time_s is None:
                raise SystemExit(f"{built.elf_path} is {found.status}: {found.reason}")
            times[config] = found.time_s
    fastest = min(times, key=times.__getitem__)
    return times[fastest], fastest


def total_s(board: Board, steps: Sequence[Step]) -> float:
    """Print a line for each step; how long all of them take.

    Alike steps, such as those of products with one depth, are measured once.
    """
    print("| kernel | shape | configuration | time | times | all |")
    print("|---|---|---|---|---|---|", flush=True)
    total, known = 0.0, {}
    for step in steps:
        key = (step.kernel, tuple(step.shape.items()))
        if key not in known:
            known[key] = measured(board, step)
        time_s, config = known[key]
        total += step.count * time_s
        values = " ".join(f"{name}={value}" for name, value in config.items())
        cells = (step.kernel, shape_text(step.shape), values, f"{time_s * 1e6:.1f} us")
        share = f"{step.count * time_s * 1e3:.2f} ms"
        print(f"| {' | '.join((*cells, f'{step.count:.4g}', share))} |", flush=True)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cores", type=int, nargs="+", default=[1])
    parser.add_argument("--prompt", type=int, help="tokens of a prompt, in place of a new token")
    parser.add_argument("--device", default="emulated")
    arguments = parser.parse_args()
    rows = arguments.prompt or 1
    steps = token_steps() if arguments.prompt is None else prompt_steps(rows)
    for cores in arguments.cores:
        board = load_board(on_cores(arguments.device, cores))
        board.open()
        estimated = " (estimated)" if board.info.estimated else ""
        print(f"\n{arguments.device}, cores: {cores}{estimated}\n")
        time_s = total_s(board, steps)
        print(
            f"\n{time_s * 1e3:.1f} ms for {rows} token(s): {rows / time_s:.1f} tokens/s, an upper "
            f"bound{estimated}"
        )


if __name__ == "__main__":
    main()

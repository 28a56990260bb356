"""Measures whole search spaces on emulated boards:
python benchmarks/search/record_space.py [KERNEL...] [--second] [--third]

Each becomes a file in T4 in `engine/replays/spaces`, which `rvv-tune bench` replays: in
`emulated-x60` of every kernel at a shape that runs fast, or of the kernels named; with `--second`
in `emulated-boards` those of the second set, with `--third` in `emulated-large` that of the third,
wavelet.py. It takes one process and a second or less per
configuration, and resumes if it was stopped. The order is random, so a table that is not complete
is a random sample.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.arguments.problem import shape_type
from engine.replays.shipped import SPACES
from engine.replays.space_file import Result, read_results, write_space
from engine.results.exports.t4 import INVALIDITY
from engine.run.identity import made_with
from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.command_line import run_script
from foundation.config import Config
from foundation.shapes import Shape
from kernels.registry import kernel_names, load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner.board import Board
from rvv_runner.devices import DEFAULT_DEVICE, load_board
from search_spaces.enumeration import take_census

__all__ = ["main"]

RECORDED = SPACES / "emulated-x60"
SECOND = SPACES / "emulated-boards"
THIRD = SPACES / "emulated-large"

# The third set: a large space that the search was not changed by.
LARGE = Path(__file__).with_name("wavelet.py")

# Kernels with hundreds of configurations, at sizes that a build takes longer for than a run.
SMALL_SHAPES: Mapping[str, Shape] = {
    "batched_matmul": {"B": 4, "M": 64, "N": 64, "K": 32},
    "fused_moe": {"M": 32, "E": 4, "N": 64, "K": 64},
    "gemm_a8w8_blockscale": {"M": 16, "N": 128, "K": 256},
    "matmul": {"M": 128, "N": 64, "K": 64},
    "split_k_matmul": {"M": 16, "N": 32, "K": 512},
}

# The second set: kernels of language models at small shapes, other cores, and several at once.
SECOND_SET: Sequence[tuple[str, Shape, str]] = (
    ("correlation", {"C": 8, "H": 32, "W": 256, "D": 16}, "emulated:c908"),
    ("correlation", {"C": 8, "H": 32, "W": 128, "D": 16}, "emulated@4cores"),
    ("decode_attention", {"KV_HEADS": 2, "G": 7, "N_CTX": 2048, "D_HEAD": 64}, "emulated"),
    ("decode_attention", {"KV_HEADS": 2, "G": 7, "N_CTX": 2048, "D_HEAD": 64}, "emulated@4cores"),
    ("decode_attention", {"KV_HEADS": 4, "G": 4, "N_CTX": 1024, "D_HEAD": 128}, "emulated:c908"),
    ("flash_attention_fwd", {"H": 4, "N_CTX": 256, "D_HEAD": 32}, "emulated@4cores"),
    ("flash_attention_fwd_causal", {"H": 4, "N_CTX": 256, "D_HEAD": 32}, "emulated:c908"),
    ("resize", {"C": 2, "H": 64, "W": 1024}, "emulated:c908"),
    ("resize", {"C": 3, "H": 128, "W": 256}, "emulated@4cores"),
    ("warp", {"C": 3, "H": 128, "W": 256}, "emulated:c908"),
    ("warp", {"C": 3, "H": 128, "W": 256}, "emulated@4cores"),
    ("matmul_w4a16", {"M": 32, "N": 512, "K": 256}, "emulated"),
    ("matmul_w4a8", {"M": 32, "N": 512, "K": 256}, "emulated"),
    ("matmul_w4a8", {"M": 128, "N": 256, "K": 128}, "emulated@4cores"),
    ("add_rms_norm", {"M": 64, "N": 896}, "emulated@4cores"),
    ("cross_entropy", {"M": 32, "N": 4096}, "emulated:c908"),
    ("rope_fwd", {"TOKENS": 32, "HEADS": 14, "HEAD_SIZE": 64}, "emulated:c908"),
)

_LIMIT_S = 600.0
_WRITTEN_EVERY = 50  # configurations


@dataclass
class Recording:
    """A table of a space, with a row per configuration that was measured.

    Args:
        problem: the kernel at its shape.
        board: opened; what measures.
        path: the file of the table.
        rows: by configuration.
    """

    problem: Problem
    board: Board
    path: Path
    rows: dict[Config, Result] = field(default_factory=dict)

    @property
    def about(self) -> dict[str, object]:
        """What the table is of; a table of something else is not continued."""
        info = self.board.info
        return {
            "kernel": self.problem.spec.name,
            "shape": dict(self.problem.shape),
            "dtype": self.problem.dtype,
            "device": info.study_device,
            "made_with": made_with(self.problem.spec.source_digest, info, self.problem.outputs),
            "default": dict(self.problem.default_config),
        }

    def read(self) -> None:
        """Take the rows that an earlier run wrote, if it measured the same."""
        if not self.path.exists():
            return
        about, rows = read_results(self.path)
        if {name: about.get(name) for name in self.about} == self.about:
            self.rows.update(rows)

    def measure(self, builder: KernelBuilder, config: Config) -> None:
        """Build a configuration and add its row; none if this machine failed at it."""
        built = builder.build(config)
        if isinstance(built, BuildFailure):
            if built.status != "board":
                self.rows[config] = Result(None, INVALIDITY[built.status])
            return
        measured = self.board.measure(built, 1, _LIMIT_S)
        if measured.status == "board":
            return
        size = built.provenance["code_bytes"]
        assert isinstance(size, int)
        time_s = measured.time_s if measured.status == "correct" else None
        self.rows[config] = Result(time_s, INVALIDITY[measured.status], code_bytes=size)

    def write(self, valid: int) -> None:
        """Write the rows, ordered by configuration.

        Args:
            valid: how many configurations are valid; with as many rows the table is complete.
        """
        names = list(self.problem.default_config)
        order = sorted(self.rows, key=lambda config: [config[name] for name in names])
        about = {**self.about, "valid_configurations": valid}
        write_space(self.path, about, {config: self.rows[config] for config in order})


def record(problem: Problem, board: Board, path: Path, most: int | None = None) -> None:
    """Measure what is missing of a space.

    Args:
        problem: the kernel at its shape.
        board: opened.
        path: the file of the table.
        most: a random sample of so many configurations; None for all.
    """
    recording = Recording(problem, board, path)
    recording.read()
    space = problem.space(board.info)
    configs = [space.config_of(row) for row in take_census(space).ranks.tolist()]
    order = random.Random(0).sample(configs, len(configs))
    left = [config for config in order[:most] if config not in recording.rows]
    with tempfile.TemporaryDirectory() as name:
        store = ArtifactStore(Path(name).resolve())
        request = BuildRequest(
            problem.spec.load_name, problem.shape, problem.dtype, board.info.target, store
        )
        builder = KernelBuilder(request)
        for count, config in enumerate(left, 1):
            recording.measure(builder, config)
            if count % _WRITTEN_EVERY == 0 or count == len(left):
                recording.write(len(configs))
    print(f"{recording.path}: {len(recording.rows)} of {len(configs)} configurations", flush=True)


def record_second_set(kernels: Sequence[str]) -> None:
    """Record the spaces of the second set, of all kernels if none is named."""
    for kernel, shape, device in SECOND_SET:
        if kernel not in (kernels or kernel_names()):
            continue
        board = load_board(device)
        board.open()
        problem = make_problem(load_kernel(kernel), shape)
        name = f"{problem.name}-{board.info.study_device}".replace("emulated:", "")
        record(problem, board, SECOND / f"{name}.json.gz")
        board.close()


def record_third_set() -> None:
    """Record the large space."""
    board = load_board(DEFAULT_DEVICE)
    board.open()
    problem = make_problem(load_kernel(str(LARGE)), {})
    record(problem, board, THIRD / f"{problem.name}.json.gz")
    board.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Record spaces."""
    parser = argparse.ArgumentParser(description="Measures every configuration of kernels.")
    parser.add_argument("kernels", nargs="*", help="all if none is named")
    parser.add_argument("--second", action="store_true", help="the spaces of the second set")
    parser.add_argument("--third", action="store_true", help="the space of the third set")
    parser.add_argument("--shape", type=shape_type, help="of one kernel")
    parser.add_argument("--most", type=int, help="a random sample of so many configurations each")
    arguments = parser.parse_args(argv)
    if arguments.second:
        record_second_set(arguments.kernels)
        return 0
    if arguments.third:
        record_third_set()
        return 0
    if arguments.shape and len(arguments.kernels) != 1:
        parser.error("--shape: name the one kernel that it is for")
    board = load_board(DEFAULT_DEVICE)
    board.open()
    for kernel in arguments.kernels or kernel_names():
        shape = arguments.shape or SMALL_SHAPES.get(kernel, {})
        problem = make_problem(load_kernel(kernel), shape)
        record(problem, board, RECORDED / f"{problem.name}.json.gz", arguments.most)
    return 0


if __name__ == "__main__":
    run_script(main)

"""A transformer block in C on tuned kernels: tunes them, makes the library, links, runs, compares.

Everything runs on the emulated board, so times are estimates. Studies are kept in the default
storage: a second run tunes nothing.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import engine
from engine.c_library.package import write_library
from engine.c_library.winners import LibraryWinner, winners_of
from engine.results.units import time_text
from engine.study.location import DEFAULT_STORAGE
from engine.study.storage import study_named
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.counters import parse_report
from rvv_runner.emulated.run import run_in_qemu
from triton_rvv.codegen.zig import run_zig_cc

# As in demo_block.c.
TOKENS, WIDTH, HEADS, HIDDEN = 64, 128, 4, 256
HEAD_SIZE = WIDTH // HEADS
SHAPES = (
    ("matmul", {"M": TOKENS, "N": WIDTH, "K": WIDTH}),
    ("matmul", {"M": TOKENS, "N": TOKENS, "K": HEAD_SIZE}),
    ("softmax", {"M": TOKENS, "N": TOKENS}),
    ("rope_fwd", {"TOKENS": TOKENS, "HEADS": HEADS, "HEAD_SIZE": HEAD_SIZE}),
    ("layernorm_fwd", {"M": TOKENS, "N": WIDTH}),
)
SOURCE = Path(__file__).with_name("demo_block.c")
LIMIT_S = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=12, help="of each study")
    trials = parser.parse_args().trials
    winners = [winner for kernel, shape in SHAPES for winner in tuned(kernel, shape, trials)]
    inputs, expected = inputs_and_expected()
    board = load_board("emulated")
    assert isinstance(board, EmulatedBoard)
    board.open()
    times_s = {}
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        for name, of_name in (("default", [default(w) for w in winners]), ("tuned", winners)):
            out, times_s[name] = run(board, linked(of_name, Path(folder) / name), inputs)
            error = float(np.abs(out - expected).max())
            right = np.allclose(out, expected, rtol=1e-4, atol=1e-4)
            print(
                f"{name + ' configurations':24} {'right' if right else 'WRONG'} against torch: "
                f"largest difference {error:.1e}, {time_text(times_s[name])} (estimated)"
            )
            if not right:
                raise SystemExit(1)
    print(f"tuned kernels make the block {times_s['default'] / times_s['tuned']:.2f}x as fast")


def tuned(kernel: str, shape: dict[str, int], trials: int) -> list[LibraryWinner]:
    """The winner of a study, which is run or resumed."""
    result = engine.tune(kernel, shape=shape, trials=trials)
    (winner,) = winners_of(study_named(DEFAULT_STORAGE, result.study))
    sizes = ",".join(f"{name}={size}" for name, size in shape.items())
    print(f"{kernel:14} {sizes:32} {winner.config}: {time_text(winner.time_s)} (estimated)")
    return [winner]


def default(winner: LibraryWinner) -> LibraryWinner:
    """The same with what would run without tuning."""
    problem = make_problem(load_kernel(winner.kernel), winner.shape, winner.dtype)
    return replace(winner, config=problem.default_config)


def linked(winners: Sequence[LibraryWinner], folder: Path) -> Path:
    """The program with a library of these winners."""
    folder.mkdir()
    write_library(winners, folder)
    program = folder / "block"
    library = [f"-I{folder / 'include'}", f"-L{folder / 'lib'}", "-ltuned"]
    flags = ["-O2", "-std=c99", "-Wall", "-static"]
    run_zig_cc([*flags, str(SOURCE), *library, "-o", str(program)], timeout_s=LIMIT_S)
    return program


def run(board: EmulatedBoard, program: Path, inputs: np.ndarray) -> tuple[np.ndarray, float]:
    """The block's output, and its estimated time in seconds with warm caches."""
    given, result = program.with_name("inputs"), program.with_name("output")
    given.write_bytes(inputs.tobytes())
    result.touch()
    done = run_in_qemu(board.emulator, program, [given, result], LIMIT_S)
    if done.result.returncode != 0 or done.report is None:
        raise SystemExit(f"the program ended with status {done.result.returncode}")
    (region,) = parse_report(done.report)
    out = np.frombuffer(result.read_bytes(), np.float32).reshape(TOKENS, WIDTH)
    return out, region.cycles / board.info.frequency_hz


def inputs_and_expected() -> tuple[np.ndarray, np.ndarray]:
    """What the program reads, and the block's output by torch in fp64."""
    torch.manual_seed(0)
    x = torch.randn(TOKENS, WIDTH)
    angles = torch.outer(torch.arange(TOKENS), 1e4 ** (-torch.arange(0, 1, 2 / HEAD_SIZE)))
    cosines, sines = angles.cos(), angles.sin()
    norms = [torch.stack([torch.rand(WIDTH) + 0.5, torch.randn(WIDTH)]) for _ in range(2)]
    shapes = [(WIDTH, WIDTH)] * 4 + [(WIDTH, HIDDEN), (HIDDEN, WIDTH)]
    weights = [torch.randn(shape) / shape[0] ** 0.5 for shape in shapes]
    weights[0] /= HEAD_SIZE**0.5  # the scale of the scores
    tensors = [x, cosines, sines, *norms, *weights]
    expected = block(*(tensor.double() for tensor in tensors))
    return np.concatenate([t.flatten().numpy() for t in tensors]), expected.numpy()


def block(
    x: torch.Tensor,
    cosines: torch.Tensor,
    sines: torch.Tensor,
    norm1: torch.Tensor,
    norm2: torch.Tensor,
    *weights: torch.Tensor,
) -> torch.Tensor:
    """What demo_block.c computes."""
    to_q, to_k, to_v, to_out, up, down = weights
    normed = torch.layer_norm(x, (WIDTH,), *norm1)
    q, k, v = (
        (normed @ weight).view(TOKENS, HEADS, HEAD_SIZE).transpose(0, 1)
        for weight in (to_q, to_k, to_v)
    )
    q, k = (turned(heads, cosines, sines) for heads in (q, k))
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
    added = x + mixed.transpose(0, 1).reshape(TOKENS, WIDTH) @ to_out
    return added + (torch.layer_norm(added, (WIDTH,), *norm2) @ up).relu() @ down


def turned(heads: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Heads turned by their tokens' angles."""
    real, imaginary = heads.chunk(2, dim=-1)
    parts = (real * cosines - imaginary * sines, imaginary * cosines + real * sines)
    return torch.cat(parts, dim=-1)


if __name__ == "__main__":
    main()

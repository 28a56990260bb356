"""A decoder of a language model in C on tuned kernels: tunes, links, runs and checks it.

Its shapes are those of Qwen2.5-0.5B (its config.json), its weights random numbers of 4 bits. One
layer runs and counts 24 times; embedding, vocabulary and sampling run in full. Everything runs on
emulated boards, so times are estimates. Studies are kept in the default storage: a second run tunes
nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path

from demo_model import KEYS_BEFORE, PROMPT, Expected, Found, Model

import engine
from engine.c_library.library_winner import LibraryWinner
from engine.c_library.package import write_library
from engine.c_library.winners import winners_of
from engine.results.units import time_text
from engine.study.location import DEFAULT_STORAGE
from engine.study.storage import study_named
from foundation.shapes import shape_text
from rvv_runner.devices import load_board, on_cores
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.counters import parse_report
from rvv_runner.emulated.run import run_in_qemu
from triton_rvv.codegen.zig import run_zig_cc
from triton_rvv.targets.target import RVVTarget

X60, X60_WITH_UNIT = "emulated:x60", "emulated:x60-ime"
LAYERS = 24
SEED = 20261126
LIMIT_S = 600.0
HEADING = (
    "| board | cores | tokens | a layer | the rest | tokens/s (estimated) | error | allowed |\n"
    "|---|---|---|---|---|---|---|---|"
)
SOURCE = Path(__file__).with_name("demo_decoder.c")
_CPU = "-mcpu=baseline_rv64+v+zvl256b+zba+zbb+zbs+zfh+zvfh"
_C_FLAGS = ("-c", "-O2", "-std=gnu11", "-Wall", "-ffast-math")


@dataclass(frozen=True)
class Study:
    """A kernel that is tuned for the decoder: at a shape, on a device and so many cores."""

    kernel: str
    shape: Mapping[str, int]
    dtype: str
    device: str = X60
    cores: int = 1


_QUERIES = {"M": 1, "N": 1152, "K": 896}
# A quarter of the largest weights, which do not fit into L2 either.
_PART_OF_PROMPT = {"M": PROMPT, "N": 2432, "K": 896}
_CACHE = {"KV_HEADS": 2, "G": 7, "N_CTX": KEYS_BEFORE, "D_HEAD": 64}
_HEADS = {"Z": 1, "H": 14, "N_CTX": PROMPT, "D_HEAD": 64}
STUDIES = (
    Study("matmul_w4a8", _QUERIES, "i8"),
    Study("matmul_w4a8", _QUERIES, "i8", cores=4),
    Study("matmul_w4a8", _PART_OF_PROMPT, "i8"),
    Study("matmul_w4a8", _PART_OF_PROMPT, "i8", cores=4),
    Study("matmul_w4a8", _PART_OF_PROMPT, "i8", X60_WITH_UNIT),
    Study("matmul_w4a8", _PART_OF_PROMPT, "i8", X60_WITH_UNIT, cores=4),
    Study("decode_attention", _CACHE, "fp16"),
    Study("decode_attention", _CACHE, "fp16", cores=4),
    Study("flash_attention_fwd_causal", _HEADS, "fp16"),
    Study("quantize_groups", {"M": 1, "K": 896}, "fp32"),
    Study("add_rms_norm", {"M": 1, "N": 896}, "fp32"),
    Study("swiglu", {"N": 4864}, "fp32"),
    Study("rope_fwd", {"TOKENS": 1, "HEADS": 16, "HEAD_SIZE": 64}, "fp32"),
)


@dataclass(frozen=True)
class Run:
    """A run of the program: a token behind those in the cache, or a prompt."""

    device: str
    cores: int
    tokens: int


RUNS = (
    *(Run(X60, cores, 1) for cores in (1, 4, 8)),
    *(Run(X60, cores, PROMPT) for cores in (1, 4, 8)),
    *(Run(X60_WITH_UNIT, cores, PROMPT) for cores in (1, 4)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=8, help="of each study")
    parser.add_argument("--runs", type=int, nargs="+", help="numbers of the runs, from 0; all")
    arguments = parser.parse_args()
    winners = [tuned(study, arguments.trials) for study in STUDIES]
    print(f"\n{HEADING}", flush=True)
    with tempfile.TemporaryDirectory(prefix="demo-") as name:
        asked = range(len(RUNS)) if arguments.runs is None else arguments.runs
        runs = [RUNS[number] for number in asked]
        programs = {
            device: linked(of_device(winners, device), Path(name) / f"program{number}")
            for number, device in enumerate(sorted({one.device for one in runs}))
        }
        cases = {
            tokens: written(tokens, Path(name) / f"inputs{tokens}")
            for tokens in sorted({one.tokens for one in runs})
        }
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            rows = pool.map(lambda one: row(one, programs[one.device], *cases[one.tokens]), runs)
            for text in rows:
                print(text, flush=True)


def tuned(study: Study, trials: int) -> LibraryWinner:
    """The winner of a study, which is run or resumed."""
    result = engine.tune(
        study.kernel,
        shape=study.shape,
        dtype=study.dtype,
        device=study.device,
        cores=study.cores,
        trials=trials,
    )
    found = winners_of(study_named(DEFAULT_STORAGE, result.study))
    if not found:
        raise SystemExit(f"{study.kernel} has no winner yet: run it again, and its study goes on")
    (winner,) = found
    at = f"{shape_text(study.shape)}, {study.device}, cores: {study.cores}"
    print(
        f"{study.kernel} {at}: {winner.config}: {time_text(winner.time_s)} (estimated)", flush=True
    )
    return winner


def of_device(winners: Sequence[LibraryWinner], device: str) -> list[LibraryWinner]:
    """All winners as code for a device: what was tuned there comes in place of what was not."""
    target = load_board(device).info.target
    assert isinstance(target, RVVTarget)
    found: dict[object, LibraryWinner] = {}
    for winner in sorted(winners, key=lambda one: one.target == target):
        place = (winner.kernel, winner.cores, *winner.shape.items())
        found[place] = replace(winner, target=target)
    return list(found.values())


def linked(winners: Sequence[LibraryWinner], folder: Path) -> Path:
    """The program with a library of these winners.

    QEMU lacks the matrix unit's instructions, so a program for it brings what computes them there.
    """
    folder.mkdir()
    write_library(winners, folder, partial(print, file=sys.stderr, flush=True))
    # In two steps: with these flags, a link would first build a C library for this core.
    sources: dict[Path, list[str]] = {}
    if any(winner.target.matrix_unit for winner in winners):
        # In front of the decoder's arrays: kernels jump to it, which they can within 1 MiB.
        sources[Path(str(files("launchers") / "matrix_unit.c"))] = [*_C_FLAGS]
    sources[SOURCE] = [*_C_FLAGS, _CPU, f"-I{folder / 'include'}"]
    for source, flags in sources.items():
        output = str(folder / f"{source.stem}.o")
        run_zig_cc([*flags, str(source), "-o", output], timeout_s=LIMIT_S)
    program, objects = folder / "decoder", [str(folder / f"{source.stem}.o") for source in sources]
    library = [f"-L{folder / 'lib'}", "-ltuned", "-lm"]
    run_zig_cc(["-static", *objects, *library, "-o", str(program)], timeout_s=LIMIT_S)
    return program


def past(tokens: int) -> int:
    """How many are in the cache before them."""
    return KEYS_BEFORE if tokens == 1 else 0


def written(tokens: int, path: Path) -> tuple[Path, Expected]:
    """The inputs in a file, and what is right."""
    model = Model(SEED, tokens, past(tokens))
    with path.open("wb") as file:
        for part in model.parts():
            file.write(part.tobytes())
    return path, model.expected()


def row(one: Run, program: Path, inputs: Path, expected: Expected) -> str:
    """Run the program; a row of the table.

    Raises:
        SystemExit: if it fails, or its output is wrong.
    """
    board = load_board(on_cores(one.device, one.cores))
    assert isinstance(board, EmulatedBoard)
    board.open()
    result = program.with_name(f"output-{one.cores}-{one.tokens}")
    result.touch()
    arguments: list[str | Path] = [inputs, result, str(one.tokens), str(past(one.tokens))]
    done = run_in_qemu(board.emulator, program, arguments, LIMIT_S)
    if done.result.returncode != 0 or done.report is None:
        raise SystemExit(f"the program ended with status {done.result.returncode}")
    found = Found.read(result.read_bytes())
    error = expected.error_of(found)
    regions = [region.cycles / board.info.frequency_hz for region in parse_report(done.report)]
    embedding_s, layer_s, end_s = regions[-3:]
    total_s = LAYERS * layer_s + embedding_s + end_s
    cells = (
        one.device,
        str(one.cores),
        str(one.tokens),
        f"{layer_s * 1e3:.2f} ms",
        f"{(embedding_s + end_s) * 1e3:.1f} ms",
        f"{one.tokens / total_s:.1f}",
        f"{error:.1%}",
        f"{expected.tolerance:.1%}",
    )
    if not error <= expected.tolerance:
        raise SystemExit(f"WRONG against torch: {' | '.join(cells)}")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()

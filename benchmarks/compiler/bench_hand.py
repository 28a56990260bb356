"""Generated code beside intrinsics by hand: python benchmarks/compiler/bench_hand.py [KERNEL ...]

The kernels are the draws in `hand/`, the intrinsics beside them in C. Each side counts with the
fastest of its forms: ours with its configurations, the hand with and without prefetches. Outputs of
both are checked. All cycles are estimates, of an emulated core: --device emulated:x100 names
another.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log
from pathlib import Path

import launchers
from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.command_line import run_script
from foundation.errors import nearest
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from rvv_runner import ElfArtifact
from rvv_runner.board import Board
from rvv_runner.devices import load_board
from rvv_runner.emulated.family import DEFAULT_MODEL
from triton_rvv.codegen.link import link_elf
from triton_rvv.codegen.zig import run_zig_cc
from triton_rvv.targets.target import RVVTarget

__all__ = ["DRAWS", "check_chosen", "drawn_kernels", "measured"]

# Files of kernels that were drawn together; each has the intrinsics beside it, in C.
_NAMES = (
    "first_draw",
    "second_draw",
    "third_draw",
    "fourth_draw",
    "fifth_draw",
    "fifth_held_out",
    "seventh_draw",
    "seventh_held_out",
    "eighth_draw",
    "eighth_held_out",
    "ninth_draw",
    "ninth_held_out",
    "tenth_draw",
    "tenth_held_out",
    "eleventh_draw",
    "eleventh_held_out",
    "twelfth_draw",
    "twelfth_draw2",
    "twelfth_held_out",
    "thirteenth_draw",
    "thirteenth_draw2",
    "thirteenth_held_out",
    "thirteenth_held_out2",
    "fourteenth_draw",
    "fourteenth_draw2",
    "fourteenth_held_out",
    "fourteenth_held_out2",
    "fifteenth_held_out",
    "fifteenth_held_out2",
    "sixteenth_held_out",
    "sixteenth_held_out2",
    "seventeenth_held_out",
    "seventeenth_held_out2",
    "eighteenth_held_out",
    "eighteenth_held_out2",
    "nineteenth_held_out",
    "nineteenth_held_out2",
    "twentieth_held_out",
    "twentieth_held_out2",
    "twentyfirst_held_out",
    "twentyfirst_held_out2",
    "twentysecond_held_out",
    "twentysecond_held_out2",
    "twentythird_held_out",
    "twentythird_held_out2",
)
DRAWS = [Path(__file__).parent / "hand" / f"{name}.py" for name in _NAMES]
FORMS: Sequence[Sequence[str]] = ((), ("-DAHEAD",))
NO_PREFETCHES = "prefetch-ignored"
BUILD_LIMIT_S = 120.0
RUN_LIMIT_S = 600.0


@dataclass(frozen=True)
class Pair:
    """Fewest cycles of both sides, under one model of the core."""

    ours: float
    hand: float

    @property
    def ratio(self) -> float:
        return self.ours / self.hand


def measured(board: Board, draw: Path, kernel: str) -> Mapping[str, Pair]:
    """Both sides of a kernel, by model: the default, and the one that ignores prefetches.

    Args:
        board: an emulated one.
        draw: the file of the kernel.
        kernel: its name.

    Raises:
        SystemExit: for a side that does not build, or whose output is wrong.
    """
    spec = load_kernel(f"{draw}:{kernel}")
    problem = make_problem(spec, {}, spec.dtypes[0])
    target, intrinsics = board.info.target, draw.with_suffix(".c")
    assert isinstance(target, RVVTarget)  # intrinsics of RVV are for no other
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        request = BuildRequest(
            spec.load_name, problem.shape, problem.dtype, target, ArtifactStore(folder)
        )
        builder = KernelBuilder(request)
        configs = problem.space(board.info).valid_configs()
        ours = [_cycles(board, builder.build(config)) for config in configs]
        hand = [
            _cycles(board, _by_hand(problem, intrinsics, form, target, folder)) for form in FORMS
        ]
    return {
        model: Pair(min(each[model] for each in ours), min(each[model] for each in hand))
        for model in (DEFAULT_MODEL, NO_PREFETCHES)
    }


def _by_hand(
    problem: Problem, intrinsics: Path, form: Sequence[str], target: RVVTarget, folder: Path
) -> ElfArtifact:
    """The kernel's intrinsics as an artifact; one program does all the work."""
    output, elf, data = (folder / f"hand.{suffix}" for suffix in ("o", "elf", "data"))
    bits = target.vlen_bits
    core = f"-mcpu=baseline_rv64+v+zvl{bits}b+zba+zbb+zbs+zicbop"
    values = {
        "VLEN": bits,
        "KERNEL": problem.spec.name,
        "SIZES": ",".join(map(str, problem.shape.values())),
    }
    defined = [f"-D{name}={value}" for name, value in values.items()]
    where = [f"-I{Path(launchers.__file__).parent}", str(intrinsics), "-o", str(output)]
    flags = ["-c", "-std=c11", core, "-O3", "-ffast-math", *form, *defined, *where]
    run_zig_cc(flags, timeout_s=BUILD_LIMIT_S)
    link_elf([output, launcher_object(target)], elf)
    # The file's own inputs: those that the check makes hold NaN, which -ffast-math leaves out.
    own = problem.timed_arguments(problem.default_config)
    write_data_file(data, own, own)
    return ElfArtifact(elf, hashlib.sha256(elf.read_bytes()).hexdigest(), data, (1, 1, 1), bits)


def _cycles(board: Board, built: ElfArtifact | BuildFailure) -> Mapping[str, float]:
    """The cycles under each model of the family, by its name."""
    if isinstance(built, BuildFailure):
        raise SystemExit(f"a kernel does not build: {built.reason}")
    measurement = board.measure(built, 1, RUN_LIMIT_S)
    if measurement.status != "correct":
        raise SystemExit(f"{built.elf_path} is {measurement.status}: {measurement.reason}")
    hertz = board.info.frequency_hz
    return {name: time_s * hertz for name, time_s in measurement.models_s.items()}


def drawn_kernels(draw: Path) -> list[str]:
    """The names of the kernels in a file."""
    functions = ast.parse(draw.read_text(encoding="utf-8")).body
    kernels = [
        each.name for each in functions if isinstance(each, ast.FunctionDef) and each.decorator_list
    ]
    return [name for name in kernels if not name.startswith("_")]


def check_chosen(
    parser: argparse.ArgumentParser, chosen: Sequence[str], names: Sequence[str]
) -> None:
    """End the script with a sentence if there is no kernel of a name."""
    if unknown := set(chosen) - set(names):
        word = min(unknown)
        parser.error(f"there is no kernel {word}: {nearest(word, dict.fromkeys(names))}")


def _print_draw(board: Board, draw: Path, kernels: Sequence[str]) -> None:
    """Print a line for each kernel, and the mean of all."""
    ratios = []
    for kernel in kernels:
        pairs = measured(board, draw, kernel)
        pair, alone = pairs[DEFAULT_MODEL], pairs[NO_PREFETCHES]
        ratios.append(pair.ratio)
        cells = (f"{pair.ours / 1e3:.0f}", f"{pair.hand / 1e3:.0f}", f"{pair.ratio:.2f}")
        print(f"| {' | '.join((kernel, *cells, f'{alone.ratio:.2f}'))} |", flush=True)
    mean = exp(fsum(map(log, ratios)) / len(ratios))
    print(f"{draw.stem}: geometric mean of ours / hand: {mean:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="emulated", help="an emulated core")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="otherwise all")
    arguments = parser.parse_args()
    device, chosen = arguments.device, arguments.kernels
    check_chosen(parser, chosen, [name for draw in DRAWS for name in drawn_kernels(draw)])
    print(f"thousand cycles on one core of {device}, all of them estimates")
    print("| kernel | ours | by hand | ours / hand | the same without prefetches |")
    print("|---|---|---|---|---|", flush=True)
    board = load_board(device)
    board.open()
    for draw in DRAWS:
        kernels = [name for name in drawn_kernels(draw) if name in (chosen or [name])]
        if kernels:
            _print_draw(board, draw, kernels)


if __name__ == "__main__":
    run_script(main)

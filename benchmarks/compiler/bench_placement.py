"""How far estimates depend on the launcher's own memory:
python benchmarks/compiler/bench_placement.py.

The kernels' default configurations, and large products, under launchers with more stack, code, data
and heap.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from pathlib import Path

import launchers
from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from foundation.shapes import shape_text
from kernels.registry import kernel_names, load_kernel, make_problem
from kernels.spec import Problem
from launchers.objects import SOURCES
from rvv_runner import ElfArtifact
from rvv_runner.board import Board
from rvv_runner.devices import load_board
from triton_rvv.codegen.link import link_elf
from triton_rvv.codegen.zig import run_zig_cc

__all__ = ["Padding", "padded_launcher"]

LIMIT_S = 600.0
BUILD_LIMIT_S = 200.0


@dataclasses.dataclass(frozen=True)
class Padding:
    """What a launcher has more of than the real one, in bytes."""

    stack: int = 0
    code: int = 0
    data: int = 0
    heap: int = 0


PADDINGS = (
    Padding(),
    Padding(stack=1040),
    Padding(stack=20032),
    Padding(stack=65536),
    Padding(code=5000),
    Padding(data=40000, heap=3000),
    Padding(stack=33344, code=65536, data=9000, heap=50000),
)
PRODUCTS = (
    ({"M": 256, "N": 512, "K": 256}, (256, 64, 256, 1)),
    ({"M": 512, "N": 512, "K": 512}, (256, 64, 128, 1)),
)

_MAIN = """
#include <alloca.h>
#include <stdlib.h>
#include <string.h>
int launcher_main(int, char **);
static char data[%(data)d + 1];
__asm__(".text\\n.space %(code)d, 0x13\\n");
static void touch(char *memory, size_t size_bytes) {
    memset(memory, 1, size_bytes);
    __asm__ volatile("" ::"r"(memory) : "memory");
}
int main(int argc, char **argv) {
    touch(data, %(data)d);
    touch(malloc(%(heap)d + 1), %(heap)d);
    touch(alloca(%(stack)d + 16), %(stack)d);
    return launcher_main(argc, argv);
}
"""


def padded_launcher(padding: Padding, folder: Path) -> Path:
    """The object file of a launcher with this padding in front, compiled in `folder`."""
    (folder / "main.c").write_text(_MAIN % dataclasses.asdict(padding))
    sources = Path(launchers.__file__).parent
    flags = ("-std=gnu11", "-O2", "-g0", "-r")
    for inputs, output, extra in (
        ([str(folder / "main.c")], "main.o", ()),
        (list(SOURCES), "rest.o", ("-Dmain=launcher_main",)),
        ([str(folder / "main.o"), str(folder / "rest.o")], "launcher.o", ()),
    ):
        arguments = [*flags, *extra, *inputs, "-o", str(folder / output)]
        run_zig_cc(arguments, timeout_s=BUILD_LIMIT_S, folder=sources)
    return folder / "launcher.o"


def _built(problem: Problem, config: Config, board: Board, store: ArtifactStore) -> ElfArtifact:
    request = BuildRequest(
        problem.spec.load_name, problem.shape, problem.dtype, board.info.target, store
    )
    built = KernelBuilder(request).build(config)
    if isinstance(built, BuildFailure):
        raise SystemExit(f"a kernel does not build: {built.reason}")
    return built


def _cycles(board: Board, built: ElfArtifact, launcher: Path) -> float:
    elf = built.elf_path.with_name("padded.elf")
    link_elf([launcher, built.elf_path.with_suffix(".o")], elf)
    measurement = board.measure(dataclasses.replace(built, elf_path=elf), 1, LIMIT_S)
    if measurement.status != "correct":
        raise SystemExit(f"{elf} is {measurement.status}: {measurement.reason}")
    return measurement.counters["u_mode_cycle"]


def _cases() -> list[tuple[Problem, Config]]:
    cases = []
    for name in kernel_names():
        spec = load_kernel(name)
        problem = make_problem(spec, {}, spec.dtypes[0])
        cases.append((problem, problem.default_config))
    for shape, blocks in PRODUCTS:
        problem = make_problem(load_kernel("matmul"), shape, "fp32")
        cases.append((problem, Config(dict(zip(problem.default_config, blocks, strict=True)))))
    return cases


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    board = load_board("emulated")
    board.open()
    print("| kernel, shape | blocks | cycles | largest over smallest |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        padded = []
        for number, padding in enumerate(PADDINGS):
            (folder / str(number)).mkdir()
            padded.append(padded_launcher(padding, folder / str(number)))
        store = ArtifactStore(folder / "store")
        for problem, config in _cases():
            built = _built(problem, config, board, store)
            cycles = [_cycles(board, built, launcher) for launcher in padded]
            blocks = "x".join(map(str, config.values()))
            title = f"{problem.spec.name} {shape_text(problem.shape)}"
            spread = max(cycles) / min(cycles) - 1
            print(f"| {title} | {blocks} | {cycles[0]:,.0f} | {spread:.2%} |", flush=True)


if __name__ == "__main__":
    main()

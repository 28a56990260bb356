"""What a run under the whole family of models costs:
python benchmarks/boards/bench_family.py [--device DEVICE] [KERNEL ...]

Prints the processor time of QEMU for each kernel's default configuration, with the check and the
timed run: the least of several runs, in turns.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import tempfile
from pathlib import Path

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.command_line import run_script
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.plugin import build_plugin, write_once
from rvv_runner.emulated.run import Emulator, launcher_arguments, run_in_qemu
from rvv_runner.measurement import ElfArtifact
from triton_rvv.targets.target import RVVTarget

__all__ = ["main"]

_KERNELS = ("matmul", "softmax", "layernorm_bwd", "flash_attention_fwd", "jacobi")
_ROUNDS = 3
_TIMEOUT_S = 120.0


def _first_model_alone(emulator: Emulator) -> Emulator:
    """The same core under its default model only."""
    text = emulator.costs.read_text(encoding="utf-8").partition("member")[0]
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    costs = write_once(f"costs-default-alone-{digest}.txt", text)
    return dataclasses.replace(emulator, plugin=build_plugin("one"), costs=costs)


def _build(name: str, target: RVVTarget, store: ArtifactStore) -> ElfArtifact:
    spec = load_kernel(name)
    problem = make_problem(spec, {}, spec.dtypes[0])
    request = BuildRequest(name, dict(problem.shape), problem.dtype, target, store)
    built = KernelBuilder(request).build(problem.default_config)
    if isinstance(built, BuildFailure):
        raise SystemExit(f"{name} does not build: {built.reason}")
    return built


def _cpu_s(emulator: Emulator, artifact: ElfArtifact) -> float:
    arguments = launcher_arguments(emulator, artifact)
    run = run_in_qemu(emulator, artifact.elf_path, arguments, _TIMEOUT_S)
    if run.result.returncode != 0:
        raise SystemExit(f"{artifact.kernel} ended with status {run.result.returncode}")
    return run.result.cpu_s


def main() -> None:
    """Print a table with a row for each kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="emulated", help="an emulated board")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="otherwise a few of each kind")
    arguments = parser.parse_args()
    board = load_board(arguments.device)
    if not isinstance(board, EmulatedBoard):
        parser.error(f"{arguments.device} has no family of models: name an emulated board")
    for name in arguments.kernels:
        load_kernel(name)  # before anything is built
    board.open()
    target = board.info.target
    assert isinstance(target, RVVTarget)
    family, one = board.emulator, _first_model_alone(board.emulator)
    print("| kernel | one model, s | the family, s | ratio |\n|---|---|---|---|")
    sums = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        store = ArtifactStore(Path(folder).resolve())
        for name in arguments.kernels or _KERNELS:
            artifact = _build(name, target, store)
            least = [float("inf"), float("inf")]
            for _ in range(_ROUNDS):
                for which, emulator in enumerate((one, family)):
                    least[which] = min(least[which], _cpu_s(emulator, artifact))
            sums = [total + each for total, each in zip(sums, least, strict=True)]
            print(f"| {name} | {least[0]:.2f} | {least[1]:.2f} | {least[1] / least[0]:.2f} |")
    print(f"| all | {sums[0]:.2f} | {sums[1]:.2f} | {sums[1] / sums[0]:.2f} |")


if __name__ == "__main__":
    run_script(main)

"""Builds a kernel as the tuner does and runs it, checked, under QEMU or on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from kernels.spec import Problem
from kernels.values import TORCH_TYPES
from launchers.arguments import Argument
from launchers.output import parse_launcher_output
from rvv_runner.measurement import ElfArtifact
from triton_rvv.runtime.qemu import cpu_option, find_qemu
from triton_rvv.targets.host_target import host_target
from triton_rvv.targets.target import RVVTarget, Target

__all__ = ["BOARD", "HOST", "run_kernel", "values_of"]

RUN_TIMEOUT_S = 200
BOARD = RVVTarget(vlen_bits=256, cpu="spacemit-x60")
HOST = host_target()

_QEMU = find_qemu()


def run_kernel(
    problem: Problem, blocks: Mapping[str, int], folder: Path, target: Target = BOARD
) -> None:
    """Fails where the default configuration, changed by `blocks`, gives a wrong output with its
    programs in order, in reverse, or some without the others."""
    config = Config({**problem.default_config, **blocks})
    request = BuildRequest(
        problem.spec.load_name, problem.shape, problem.dtype, target, ArtifactStore(folder)
    )
    built = KernelBuilder(request).build(config)
    assert isinstance(built, ElfArtifact), built.reason
    command = [str(built.elf_path), str(built.data_path), *built.launcher_options]
    done = subprocess.run(
        command if target == HOST else [str(_QEMU), "-cpu", cpu_option(_QEMU, BOARD), *command],
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    report = parse_launcher_output(done.stdout)
    assert done.returncode == 0, report.mismatch or (done.returncode, done.stderr)
    assert report.output_ok is True


def values_of(array: np.ndarray, argument: Argument) -> torch.Tensor:
    """An argument's contents as numbers in double precision, whatever type they are stored as."""
    bits = torch.from_numpy(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
    return bits.view(TORCH_TYPES[argument.element_type]).double().reshape(array.shape)

"""Builds a kernel for the emulated X60 without some passes and rules of the compiler."""

from __future__ import annotations

import functools
from collections.abc import Collection
from pathlib import Path
from typing import Any
from unittest import mock

from engine.workers import kernel_builder
from engine.workers.artifacts import ArtifactStore, BuildFailure
from foundation.config import Config
from kernels.spec import Problem
from rvv_runner import ElfArtifact
from rvv_runner.devices import load_board
from triton_rvv.pipeline import CompiledKernel, compile_kernel

__all__ = ["build_without"]


def build_without(
    problem: Problem, config: Config, skipped: Collection[str], folder: Path
) -> tuple[ElfArtifact | BuildFailure, CompiledKernel | None]:
    """A configuration's executable, or why there is none, and what the compiler made, if anything.

    Args:
        problem: the kernel, with shape and element type.
        config: its configuration.
        skipped: the names of passes and rules that are left out.
        folder: where the build is stored; none with other names may be there.
    """
    made = list[CompiledKernel]()
    compiling = functools.partial(compile_kernel, skipped_passes=skipped)

    def compiled(*arguments: Any, **options: Any) -> CompiledKernel:
        made.append(compiling(*arguments, **options))
        return made[-1]

    with mock.patch.object(kernel_builder, "compile_kernel", compiled):
        request = kernel_builder.BuildRequest(
            problem.spec.load_name,
            problem.shape,
            problem.dtype,
            load_board("emulated").info.target,
            ArtifactStore(folder),
        )
        built = kernel_builder.KernelBuilder(request).build(config)
    return built, made[-1] if made else None

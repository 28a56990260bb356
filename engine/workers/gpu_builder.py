"""From a configuration to a GPU's machine code, in this process, which needs no GPU."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, replace

from engine.workers.artifacts import ArtifactStore, BuildFailure, digest, write_provenance
from engine.workers.toolchain import toolchain_versions
from foundation.config import Config
from foundation.errors import UserError
from foundation.gpu_limits import GpuLimits
from foundation.values_read import ByValuesRead
from gpu_runner.artifact import GpuArtifact
from gpu_runner.compile import KernelInput, compile_kernel, kernel_input
from gpu_runner.detect import target_of
from gpu_runner.errors import GpuCompileError
from kernels.on_device import (
    ProblemArguments,
    arrays_do_not_fit,
    made_on,
    without_contents,
)
from rvv_runner.board import BoardInfo

__all__ = ["GpuBuildRequest", "GpuKernelBuilder"]

_METADATA = "launch.json"


@dataclass(frozen=True)
class GpuBuildRequest:
    """What a builder in another process needs to know; picklable.

    Args:
        source: makes the problem's arguments.
        info: of the GPU.
        store: where builds are stored.
    """

    source: ProblemArguments
    info: BoardInfo
    store: ArtifactStore


class GpuKernelBuilder:
    """Builds configurations of one problem for one kind of GPU.

    A build serves every shape with the same constants whose sizes are divisible alike.

    Raises:
        UserError: if the request names an unknown kernel, dimension or element type.
    """

    def __init__(self, request: GpuBuildRequest) -> None:
        assert request.info.gpu is not None
        self._source = request.source
        self._problem = request.source.problem
        self._info = request.info
        self._limits: GpuLimits = request.info.gpu
        self._target = target_of(request.info)
        self._store = replace(request.store, suffix=self._target.binary_suffix)
        self._tools = toolchain_versions(request.info.backend)
        self._arguments = ByValuesRead(lambda config: without_contents(self._problem, config))

    def build(self, config: Config) -> GpuArtifact | BuildFailure:
        """The machine code of `config`: from the store, or built and stored there.

        Raises:
            UserError: for a mistake in a user's own file, which would fail every configuration.
        """
        try:
            return self._build(config)
        except UserError:
            raise
        except (OSError, MemoryError) as error:
            return BuildFailure(
                f"this machine cannot build it: {str(error) or 'no memory'}", "board"
            )
        except GpuCompileError as error:
            return BuildFailure(str(error))

    def _build(self, config: Config) -> GpuArtifact | BuildFailure:
        problem, target = self._problem, self._target
        kernel = problem.spec.kernel
        arguments = self._arguments(config)
        too_large = arrays_do_not_fit(problem, arguments, self._limits)
        if too_large:
            return BuildFailure(too_large, "runtime")
        # A user's functions may make their arrays again, which hold nothing on this device.
        constants = made_on("meta", lambda: problem.constants(config))
        grid = made_on("meta", lambda: problem.spec.grid(problem, config))
        blocks = made_on("meta", lambda: problem.blocks(config, arguments))
        options = problem.launch_options(config)
        made_from = kernel_input(kernel, arguments, constants, options, target, blocks)
        key = digest(kernel.cache_key, made_from, str(target), self._tools)
        label = "_".join(str(value) for value in config.values()) or "default"
        found = self._store.find(problem.spec.name, label, key)
        if found is None:
            self._compile(config, made_from, label, key)
            found = self._store.find(problem.spec.name, label, key)
            if found is None:
                return BuildFailure(f"the build is no longer in {self._store.root}", "board")
        path, provenance = found
        binary = path.read_bytes()
        return GpuArtifact(
            target=target,
            name=f"{problem.spec.name}_kernel",
            binary=binary,
            metadata=path.with_name(_METADATA).read_text(),
            signature=made_from.signature,
            constants=made_from.constants,
            grid=grid,
            config=config,
            source=self._source,
            sha256=hashlib.sha256(binary).hexdigest(),
            path=path,
            provenance=provenance,
        )

    @functools.cached_property
    def _default(self) -> Config | None:
        # A user's file makes its arrays to list its configurations.
        return made_on("meta", lambda: self._problem.space(self._info).default)

    def _compile(self, config: Config, made_from: KernelInput, label: str, key: str) -> None:
        """Compile and store.

        Raises:
            GpuCompileError: if Triton refuses it, or it takes more than the GPU has.
        """
        spec, target = self._problem.spec, self._target
        # The default is what all others are compared with, however slow it is.
        may_spill = config == self._default
        compiled = compile_kernel(spec.kernel, made_from, target, self._limits, may_spill=may_spill)
        with self._store.new_folder(spec.name, label, key) as folder:
            stem = folder / f"{spec.name}_kernel"
            for suffix, text in compiled.texts.items():
                stem.with_suffix(suffix).write_text(text)
            stem.with_suffix(target.binary_suffix).write_bytes(compiled.binary)
            (folder / _METADATA).write_text(compiled.metadata)
            write_provenance(
                folder,
                {
                    "problem": self._problem.name,
                    "config": dict(config),
                    "target": str(target),
                    "key": key,
                    "tools": self._tools,
                    "code_bytes": len(compiled.binary),
                    "shared_bytes": compiled.shared_bytes,
                    "stages_s": dict(compiled.stages_s),
                },
            )

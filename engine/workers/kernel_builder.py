"""From a configuration to an ELF, in this process: compile, link, store."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import math
import tempfile
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.workers.artifacts import ArtifactStore, BuildFailure, digest, write_provenance
from engine.workers.machine import refusal_to_write
from engine.workers.race_check import has_atomics, may_race, race_found
from engine.workers.toolchain import toolchain_versions
from foundation.config import Config
from foundation.errors import UserError
from foundation.triton_options import PREFETCH
from foundation.values_read import ByValuesRead
from kernels.registry import load_kernel, make_problem
from kernels.spec import OWN_OUTPUTS, Grid, Outputs
from launchers.arguments import Argument
from launchers.data_file import is_whole
from launchers.descriptors import taken_apart
from launchers.objects import launcher_object
from rvv_runner.host_lock import building
from rvv_runner.measurement import ElfArtifact
from triton_rvv.codegen.link import LinkError, link_elf, warm_up
from triton_rvv.codegen.llvm import code_bytes
from triton_rvv.codegen.zig import ZigError, ZigStopped, zig_cache_folder
from triton_rvv.errors import CompileError
from triton_rvv.frontend.ttir import Operation, parse_module
from triton_rvv.pipeline import CompiledKernel, compile_kernel
from triton_rvv.targets.host_target import plain_host_target
from triton_rvv.targets.machine import PREFETCHES
from triton_rvv.targets.target import Target, with_prefetch

__all__ = ["COMMENTED", "BuildRequest", "KernelBuilder"]

# Ending of the assembly beside an executable with lines, which says what saves registers.
COMMENTED = ".commented.s"


# What a build says of its programs: whether one can wait for what another does.
_ORDERING, _UNORDERED = "may order each other", "do not order each other"


@dataclass(frozen=True)
class BuildRequest:
    """What a builder in another process needs to know; picklable.

    Args:
        kernel, shape, dtype, outputs: arguments for `kernels.registry`.
        target: what code is generated for.
        store: where builds are stored.
        with_lines: whether executables say which line of the kernel each instruction comes from.
    """

    kernel: str
    shape: Mapping[str, int]
    dtype: str
    target: Target
    store: ArtifactStore
    outputs: Outputs = OWN_OUTPUTS
    with_lines: bool = False


@dataclass(frozen=True)
class _Job:
    """The compiler's input for one configuration."""

    config: Config
    signature: Mapping[str, str]
    constants: Mapping[str, object]
    known: Mapping[str, int]
    grid: Grid
    # Apart from what the store's keys are made of, since few kernels have any.
    leads: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def label(self) -> str:
        return _label(self.config)


@dataclass(frozen=True)
class _Inputs:
    """What a kernel is run on in a configuration.

    Args:
        arguments: types and scalars; of arrays, no contents.
        known: values of the integers.
        data_path: the file with the contents.
    """

    arguments: tuple[Argument, ...]
    known: Mapping[str, int]
    data_path: Path


class KernelBuilder:
    """Builds configurations of one problem for one target.

    The first build on a machine waits a minute for the linker to build its libc.

    Raises:
        UserError: if the request names an unknown kernel, dimension or element type, or if this
            machine cannot link.
    """

    def __init__(self, request: BuildRequest) -> None:
        spec = load_kernel(request.kernel)
        self._problem = make_problem(spec, request.shape, request.dtype, request.outputs)
        self._target = request.target
        self._store = request.store
        self._with_lines = request.with_lines
        self._launcher = self._ready_to_link()
        self._tools = toolchain_versions()
        self._source = spec.source_digest
        # To make inputs and correct outputs can take longer than to compile.
        self._inputs = ByValuesRead(
            self._make_inputs, is_good=lambda inputs: is_whole(inputs.data_path)
        )

    def build(self, config: Config) -> ElfArtifact | BuildFailure:
        """The ELF of `config`: from the store, or built and stored there.

        Raises:
            UserError: for a mistake in a user's own file, which would fail every configuration.
        """
        # On this machine, builds and measurements wait for each other.
        on_host = self._target.backend == "host"
        try:
            with building() if on_host else contextlib.nullcontext():
                return self._build(config)
        except UserError:
            raise
        except (OSError, MemoryError) as error:
            return BuildFailure(
                f"this machine cannot build it: {str(error) or 'no memory'}", "board"
            )
        except CompileError as error:
            return BuildFailure(str(error))
        except ZigStopped as error:
            return BuildFailure(str(error), "board")
        except LinkError as error:
            refusal = self._refusal_to_write()
            return BuildFailure(refusal, "board") if refusal else BuildFailure(str(error))
        except Exception as error:  # a bug in the compiler costs one configuration, not the study
            return self._unexpected(config, error)

    def _ready_to_link(self) -> Path:
        """The launcher's object, once a link is quick."""
        try:
            warm_up(self._target.backend)
            return launcher_object(self._target)
        except (LinkError, ZigError) as error:
            refusal = self._refusal_to_write()
            advice = "make room there, or get write access" if refusal else "run the command again"
            raise UserError(
                f"this machine cannot link programs ({refusal or error}): {advice}"
            ) from error

    def _refusal_to_write(self) -> str:
        """Why the linker cannot write its files; it ends without a word on a full disk."""
        folders = (self._store.root, Path(tempfile.gettempdir()), Path.home(), zig_cache_folder())
        return refusal_to_write([folder for folder in folders if folder.exists()])

    def _build(self, config: Config) -> ElfArtifact | BuildFailure:
        spec = self._problem.spec
        inputs = self._inputs(config)
        blocks = self._problem.blocks(config, inputs.arguments)
        job = _Job(
            config=config,
            signature={a.name: a.signature_type(blocks) for a in inputs.arguments},
            constants=self._problem.constants(config),
            known=inputs.known,
            grid=spec.grid(self._problem, config),
            leads={a.name: a.lead_bytes for a in inputs.arguments if a.lead},
        )
        more = [*(["with lines"] if self._with_lines else []), *([job.leads] if job.leads else [])]
        key = digest(spec.kernel.cache_key, job, str(self._target), self._tools, *more)
        found = self._store.find(spec.name, job.label, key)
        if found is None:
            self._compile_and_link(job, key)
            _keep_what_is_loaded()
            found = self._store.find(spec.name, job.label, key)
            if found is None:
                return BuildFailure(f"the build is no longer in {self._store.root}", "board")
        elf, provenance = found
        # Builds of earlier versions do not say.
        if provenance.get("may_race", True) and (race := self._race(job, elf, inputs)):
            return BuildFailure(race, "wrong")
        name = provenance.get("kernel")  # builds of earlier versions have none
        return ElfArtifact(
            elf_path=elf,
            sha256=hashlib.sha256(elf.read_bytes()).hexdigest(),
            data_path=inputs.data_path,
            grid=job.grid,
            vlen_bits=self._target.vector_bits,
            provenance=provenance,
            kernel=name if isinstance(name, str) else None,
            ordered=spec.ordered,
            alone=provenance.get("programs") == _UNORDERED,
        )

    def _make_inputs(self, config: Config) -> _Inputs:
        arguments = self._problem.arguments(config)
        data_path = self._store.data_file(
            self._problem.spec.name,
            taken_apart(arguments),
            timed=lambda: taken_apart(self._problem.timed_arguments(config, arguments)),
            source=self._source,
        )
        alone = tuple(map(_without_contents, arguments))
        return _Inputs(alone, _integers(taken_apart(alone)), data_path)

    def _compiled(
        self, job: _Job, target: Target, watched: Operation | None = None
    ) -> CompiledKernel:
        """Compile it; where `watched` is its IR, so that every access to memory is seen."""
        return compile_kernel(
            self._problem.spec.kernel,
            job.signature,
            job.constants,
            target,
            known=job.known,
            source_lines=self._with_lines,
            disjoint_arguments=True,  # the launcher gives each an array of its own
            grid=job.grid,
            for_launcher=True,
            watches_accesses=watched is not None,
            parsed=watched,
            leads=job.leads,
        )

    def _race(self, job: _Job, elf: Path, inputs: _Inputs) -> str:
        """What is wrong where programs run at once, as `race_found` has it."""
        is_alone = math.prod(job.grid) == 1
        if self._problem.spec.ordered or is_alone:
            return ""
        module = parse_module(elf.with_suffix(".ttir").read_text())
        return race_found(
            elf.parent,
            inputs.data_path,
            job.grid,
            lambda: self._compiled(job, plain_host_target(), watched=module),
        )

    def _compile_and_link(self, job: _Job, key: str) -> None:
        spec = self._problem.spec
        with self._store.new_folder(spec.name, job.label, key) as folder:
            compiled = self._compiled(job, _target_of(self._target, job.config))
            stem = folder / f"{spec.name}_kernel"
            stem.with_suffix(".ttir").write_text(compiled.ttir)
            stem.with_suffix(".llir").write_text(compiled.llir)
            stem.with_suffix(".o").write_bytes(compiled.object)
            if self._with_lines:
                stem.with_suffix(COMMENTED).write_text(compiled.commented_assembly)
            start_s = time.perf_counter()
            objects = [stem.with_suffix(".o"), self._launcher]
            link_elf(objects, stem.with_suffix(".elf"), self._target.backend, self._with_lines)
            provenance = {
                "problem": self._problem.name,
                "kernel": compiled.name,
                "config": dict(job.config),
                "target": str(self._target),
                "key": key,
                "tools": self._tools,
                "programs": _ORDERING if has_atomics(compiled.ttir) else _UNORDERED,
                "may_race": may_race(compiled),
                "code_bytes": code_bytes(compiled.object),
                "stages_s": {**compiled.stages_s, "link": time.perf_counter() - start_s},
            }
            write_provenance(folder, provenance)

    def _unexpected(self, config: Config, error: Exception) -> BuildFailure:
        """A failure whose traceback is kept, so that the bug can be fixed."""
        name = f"{self._problem.name}-{_label(config)}-{digest(str(self._target), self._tools)}.txt"
        report = self._store.root / "failures" / name
        try:
            report.parent.mkdir(parents=True, exist_ok=True)
            report.write_text("".join(traceback.format_exception(error)))
        except OSError as full:
            return BuildFailure(f"this machine cannot build it: {full}", "board")
        what = str(error).splitlines()[0] if str(error) else "no message"
        return BuildFailure(
            f"the build failed with {type(error).__name__} ({what}); traceback in {report}"
        )


@functools.cache
def _keep_what_is_loaded() -> None:
    """Have Python not look for garbage among what the first build has imported and kept.

    That is a million objects, through which it would go every 30 builds, for a tenth of a second.
    """
    gc.collect()
    gc.freeze()


def _target_of(target: Target, config: Config) -> Target:
    """The target that a configuration asks for.

    Raises:
        CompileError: for a PREFETCH that there is not.
    """
    wanted = config.get(PREFETCH)
    if wanted not in (None, *PREFETCHES):
        raise CompileError(f"PREFETCH is {wanted}: make it {', '.join(PREFETCHES)}")
    return with_prefetch(target, wanted)


def _label(config: Config) -> str:
    return "_".join(str(value) for value in config.values()) or "default"


def _without_contents(argument: Argument) -> Argument:
    value = None if argument.is_pointer else argument.value
    return replace(argument, value=value, expected=None, slack=None)


def _integers(arguments: tuple[Argument, ...]) -> dict[str, int]:
    """Values of the integer scalars; the compiler specialises for them, like Triton's JIT."""
    return {
        argument.name: int(argument.value)
        for argument in arguments
        if not argument.is_pointer and isinstance(argument.value, int)
    }

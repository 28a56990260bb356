"""A kernel's whole way from Triton source to an object, stage by stage and timed."""

from __future__ import annotations

import functools
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from triton_rvv.codegen.embedding import embedded
from triton_rvv.codegen.llvm import assemble, commented_assembly, generate, generate_unoptimised
from triton_rvv.frontend.descriptors import part_names
from triton_rvv.frontend.source_lines import SourceLines, for_people, with_source_comments
from triton_rvv.frontend.ttir import Operation, parse_module
from triton_rvv.lowering import Fired, Watch, lower_module
from triton_rvv.lowering.elementwise.special_registers import with_counted_clock
from triton_rvv.lowering.memory.plain_updates import with_threads_told
from triton_rvv.make_ttir import make_ttir
from triton_rvv.reached_arguments import (
    ReachedArguments,
    reached_arguments,
    unwatched_arguments,
)
from triton_rvv.targets.target import Target

__all__ = ["CompiledKernel", "compile_kernel"]


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel for one configuration, with every text on its way.

    Args:
        name: the kernel function's name.
        ttir: Triton's IR in MLIR's generic form; "" where it was given.
        llir: LLVM's IR after optimisation.
        object: an ELF relocatable object that exports `triton_rvv_kernel`; for the host also a loop
            over programs, `triton_rvv_run_programs`.
        stages_s: seconds spent in each stage.
        lowered: LLVM's IR before optimisation.
        target: what code was made for.
        passes: how many places each pass over the IR changed, and for how many operations code was
            written by each rule.
        reached: what loads and stores may reach; None where that cannot be followed.
    """

    name: str
    ttir: str
    llir: str
    object: bytes
    stages_s: Mapping[str, float]
    lowered: str
    target: Target
    passes: Sequence[Fired]
    reached: ReachedArguments | None

    @functools.cached_property
    def assembly(self) -> str:
        """The target's assembly, made when it is first read, which takes as long as the object."""
        return with_source_comments(assemble(for_people(self.llir)))

    @functools.cached_property
    def commented_assembly(self) -> str:
        """The assembly with LLVM's own comments; takes as long too."""
        return commented_assembly(self.lowered, self.target)


def compile_kernel(
    function: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, object],
    target: Target,
    known: Mapping[str, int] | None = None,
    source_lines: bool = False,
    disjoint_arguments: bool = False,
    entry: str = "",
    grid: Sequence[int] | None = None,
    watch: Watch | None = None,
    skipped_passes: Collection[str] = (),
    for_launcher: bool = False,
    watches_accesses: bool = False,
    parsed: Operation | None = None,
    leads: Mapping[str, int] | None = None,
    asks_threads: bool = False,
) -> CompiledKernel:
    """Compile a kernel for one configuration.

    Args:
        function: the `@triton.jit` function.
        signature: Triton's type name for each parameter that is passed at run time, in the
            kernel's order; of a tuple for each part (`triton_rvv.frontend.tuples`).
        constants: the value of every constexpr parameter that has no default, and of any other.
        target: what code is made for.
        known: values of integer parameters, and of what stands for descriptors (`part_names`), that
            hold for every run. As in Triton's own JIT, a parameter that is 1 becomes a constant
            and a multiple of 16 is marked as such; the launcher still passes it. Code that no run
            would reach is left out.
        source_lines: whether the object has a table of the kernel's lines, and the assembly shows
            them, as comments.
        disjoint_arguments: whether different pointer arguments never lead to the same memory. Code
            that need not be right where they do keeps fewer copies of blocks.
        entry: for a program that holds several kernels, the one symbol that the object exports; ""
            for those of `launchers/kernel_abi.h`.
        grid: programs along x, y and z where every run has these; as with `known`, what they rule
            out is left out.
        watch: told of each pass over the kernel's IR.
        skipped_passes: names of passes that do not run, and of rules that are not followed, as
            where one is looked for that makes code wrong or slow.
        for_launcher: whether the kernel is for the launcher. It reads the launcher's clock and
            core, which are the same on every machine, in place of the machine's
            (`launchers/clock.h`), and asks whether one thread runs all programs
            (`launchers/cores.h`).
        watches_accesses: whether accesses to arrays through which programs may race go through
            functions of the program around the kernel (`launchers/history.h`). Such code runs once,
            so it is made soon rather than fast.
        parsed: Triton's IR of the same kernel for the same arguments, where it was made before;
            then the front end does not run. Passes change it.
        leads: of pointers, how many bytes behind the address that the launcher passes lies the one
            that the kernel gets.

        asks_threads: whether the kernel asks the program around it whether one thread runs all
            programs, as one for the launcher does.

    Raises:
        CompileError: where the kernel cannot be compiled.
    """
    arguments = _Arguments(function, signature, constants, known or {}, leads or {})
    stages_s: dict[str, float] = {}
    with _timed(stages_s, "front end"):
        text = arguments.ttir(target) if parsed is None else ""
    with _timed(stages_s, "lowering"):
        module = parsed or parse_module(text)
        reached = reached_arguments(module)  # before passes change it
        lowered = lower_module(
            module,
            target,
            arguments.slots,
            SourceLines() if source_lines else None,
            disjoint_arguments,
            values=arguments.values,
            leads=arguments.leads_bytes,
            grid=grid,
            watch=watch,
            skipped_passes=skipped_passes,
            watches_accesses=watches_accesses,
            unwatched=unwatched_arguments(reached) if disjoint_arguments else (),
        )
    with _timed(stages_s, "LLVM"):
        llir = _for_program(lowered.llir, entry, for_launcher, asks_threads)
        code = generate_unoptimised(llir, target) if watches_accesses else generate(llir, target)
    return CompiledKernel(
        function.__name__,
        text,
        code.llir,
        code.object,
        stages_s,
        llir,
        target,
        lowered.passes,
        reached,
    )


def _for_program(llir: str, entry: str, for_launcher: bool, asks_threads: bool) -> str:
    """A module, adapted to its program; the arguments are those of `compile_kernel`."""
    llir = embedded(llir, entry) if entry else llir
    llir = with_counted_clock(llir) if for_launcher else llir
    return with_threads_told(llir) if for_launcher or asks_threads else llir


@dataclass(frozen=True)
class _Arguments:
    """What is known of a kernel's arguments before it is compiled; as of `compile_kernel`."""

    function: Any
    signature: Mapping[str, str]
    constants: Mapping[str, object]
    known: Mapping[str, int]
    leads: Mapping[str, int]

    def ttir(self, target: Target) -> str:
        """The kernel as TTIR, where integers that are 1 are constants."""
        parameters = self.function.params
        defaults = {p.name: p.default for p in parameters if p.is_constexpr and p.has_default}
        constants = {**defaults, **self.constants, **dict.fromkeys(self._ones, 1)}
        types = {**self.signature, **dict.fromkeys(constants, "constexpr")}
        multiples = frozenset(
            name
            for name, value in self.known.items()
            if value % 16 == 0 and name not in self._ones and name in self.signature
        )
        # Masks and addresses of descriptors are found only with the numbers in them.
        described = {
            number: self.known[name]
            for number, name in enumerate(self.passed)
            if name in self.known and name not in self.signature
        }
        return make_ttir(self.function, types, constants, multiples, target, described)

    @functools.cached_property
    def _ones(self) -> Collection[str]:
        return {name for name, value in self.known.items() if value == 1 and name in self.signature}

    @functools.cached_property
    def _every(self) -> Sequence[str]:
        types = self.signature.items()
        return [part for name, type_ in types for part in part_names(name, type_)]

    @functools.cached_property
    def passed(self) -> Sequence[str]:
        """The names of what TTIR's function takes, of descriptors and tuples for each part."""
        return [name for name in self._every if name not in self._ones]

    @functools.cached_property
    def slots(self) -> Sequence[int]:
        """For each of those its place among all that the launcher passes."""
        return [place for place, name in enumerate(self._every) if name not in self._ones]

    @property
    def values(self) -> Sequence[int | None]:
        """For each of those its value, where it is known."""
        return [self.known.get(name) for name in self.passed]

    @property
    def leads_bytes(self) -> Sequence[int]:
        """For each of those its entry of `leads`, 0 where it has none."""
        return [self.leads.get(name, 0) for name in self.passed]


@contextmanager
def _timed(stages_s: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    stages_s[name] = time.perf_counter() - start

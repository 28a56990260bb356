"""Lowers a kernel's TTIR function to an LLVM module that the launcher can call."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.source_lines import SourceLines
from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.scratch import entry_lines
from triton_rvv.lowering.control import calls, control
from triton_rvv.lowering.control.grid_loop import grid_loop
from triton_rvv.lowering.control.program_order import ids_in_order
from triton_rvv.lowering.elementwise import (
    arith,
    comparisons,
    debug,
    gather,
    hints,
    histogram,
    index,
    join,
    picks,
    pointers,
    quotients,
    shapes,
    special_registers,
)
from triton_rvv.lowering.elementwise.unsupported import REFUSALS
from triton_rvv.lowering.llvm.intervals import exactly
from triton_rvv.lowering.llvm.rules import Choices
from triton_rvv.lowering.llvm.value_ranges import program_places
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.memory import atomics, loads, permute, stores, watched
from triton_rvv.lowering.memory.bounds import UNCHECKED, Access, accesses, with_bounds_checked
from triton_rvv.lowering.products import dot, dot_scaled
from triton_rvv.lowering.reductions import maps, reduce, scan
from triton_rvv.lowering.ttir.aliasing import Apart
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.passes import PASSES, WRITTEN, Fired, Watch, run_passes
from triton_rvv.lowering.ttir.schedule import SCHEDULE, SCHEDULED_BY_LLVM
from triton_rvv.targets.target import RVVTarget, Target

__all__ = ["ADDED_MOVES", "ENTRY", "LoweredKernel", "lower_module"]

# The attribute of a function of LLVM's whose registers sums copy; its value is the bits of one.
ADDED_MOVES = "triton-rvv-adds-moves"
# The symbol that a launcher calls, once for each program of the grid.
ENTRY = "triton_rvv_kernel"


def _program_id(context: Context, operation: Operation) -> None:
    context.bind(operation.result, context.program_ids[operation.integer("axis")])


def _program_count(context: Context, operation: Operation) -> None:
    context.bind(operation.result, context.program_counts[operation.integer("axis")])


# Later modules take over operations that earlier ones know only element by element.
HANDLERS: Mapping[str, Handler] = {
    "tt.get_program_id": _program_id,
    "tt.get_num_programs": _program_count,
    **arith.HANDLERS,
    **shapes.HANDLERS,
    **index.HANDLERS,
    **quotients.HANDLERS,
    **pointers.HANDLERS,
    **comparisons.HANDLERS,
    **loads.HANDLERS,
    **stores.HANDLERS,
    **reduce.HANDLERS,
    **scan.HANDLERS,
    **maps.HANDLERS,
    **permute.HANDLERS,
    **join.HANDLERS,
    **gather.HANDLERS,
    **picks.HANDLERS,
    **histogram.HANDLERS,
    **atomics.HANDLERS,
    **debug.HANDLERS,
    **hints.HANDLERS,
    **special_registers.HANDLERS,
    **dot.HANDLERS,
    **dot_scaled.HANDLERS,
    **control.HANDLERS,
    **calls.HANDLERS,
}


@dataclass(frozen=True)
class LoweredKernel:
    """A kernel as LLVM IR.

    Args:
        argument_types: MLIR's type name of each argument, "ptr" for any pointer.
        llir: the text of an LLVM module that exports
            `void triton_rvv_kernel(const uint64_t *args, uint32_t pid_x, pid_y, pid_z, num_x,
            num_y, num_z)`, `triton_rvv_kernel_name` and `triton_rvv_vlen_bits`, and for the host
            also `triton_rvv_run_programs` (see `triton_rvv.lowering.control.grid_loop`).
        apart: the pairs of arguments of which the code is wrong where they lead to the same memory;
            none where arguments may overlap.
        passes: how many places each pass over the IR changed, in their order; then for how many
            operations code was written by each rule.
    """

    name: str
    argument_types: tuple[str, ...]
    llir: str
    apart: tuple[Apart, ...]
    passes: tuple[Fired, ...]
    accesses: tuple[Access, ...] = ()


def lower_module(
    module: Operation,
    target: Target,
    slots: Sequence[int] | None = None,
    source_lines: SourceLines | None = None,
    disjoint_arguments: bool = False,
    checks_bounds: bool = False,
    values: Sequence[int | None] = (),
    leads: Sequence[int] = (),
    grid: Sequence[int] | None = None,
    watch: Watch | None = None,
    skipped_passes: Collection[str] = (),
    watches_accesses: bool = False,
    unwatched: Collection[int] = (),
) -> LoweredKernel:
    """Write a kernel as LLVM IR.

    Args:
        module: a `builtin.module` with one public function.
        slots: for each argument of the function, its place in the launcher's argument array;
            the arguments' own order where it is not given.
        source_lines: where given, marks instructions with the kernel's lines.
        disjoint_arguments: whether different pointer arguments lead to different memory.
        checks_bounds: whether each access to memory is checked (see `lowering/memory/bounds.py`).
        values: for each argument of the function its value, where that is the same in every run.
        leads: for each argument of the function, how many bytes lie between the address that is
            passed and the one that the kernel gets; none where it is not given.
        grid: programs along x, y and z, where they are the same in every run.
        watch: told of each pass over `module` that has run, and at the end of WRITTEN.
        skipped_passes: the names of passes that do not run, and of rules that are not followed.
        watches_accesses: whether accesses to memory, but for loads and atomic operations on
            `unwatched` arguments, go through functions of the program around the kernel
            (`launchers/history.h`), in the kernel's order; then no pass runs.
        unwatched: numbers of arguments through which no race can show.

    Raises:
        CompileError: where the kernel uses what is not supported.
    """
    kernel = Kernel(module, target, disjoint_arguments, values, grid)
    skipped = _skipped(skipped_passes, checks_bounds, watches_accesses)
    passes = run_passes(kernel, watch, skipped)
    if checks_bounds:  # to be made soon rather than to be fast: nobody estimates which code is
        kernel.function.attributes[SCHEDULE] = "topdown"
    handlers: Mapping[str, Handler] = {**REFUSALS, **HANDLERS}
    if watches_accesses:
        handlers = {**handlers, **watched.handlers(unwatched, handlers)}
    blocks = kernel.function.regions[0].blocks
    arguments = blocks[0].arguments
    if checks_bounds:
        handlers = with_bounds_checked(handlers, module, len(arguments))
    choices = Choices(skipped, is_watched=watch is not None)
    context = _context(kernel, handlers, source_lines, watches_accesses, choices)
    _load_arguments(context, arguments, slots or range(len(arguments)), values, leads)
    calls.lower_body(context, blocks)
    llir = _module_text(kernel, context, source_lines)
    passes += [Fired(name, count) for name, count in choices.counts().items()]
    if watch is not None:
        watch(Fired(WRITTEN, choices.mark()), module)
    checked = accesses(module, kernel.aliases) if checks_bounds else ()
    return LoweredKernel(
        kernel.name,
        kernel.argument_types,
        llir,
        kernel.aliases.apart,
        tuple(passes),
        tuple(checked),
    )


def _skipped(
    names: Collection[str], checks_bounds: bool, watches_accesses: bool
) -> Collection[str]:
    """Passes and rules to leave out: the named ones, and those not used in code for checks."""
    if watches_accesses:
        return [*names, *(each.name for each in PASSES)]
    return [*names, *UNCHECKED] if checks_bounds else names


def _context(
    kernel: Kernel,
    handlers: Mapping[str, Handler],
    source_lines: SourceLines | None,
    watches_accesses: bool,
    choices: Choices,
) -> Context:
    """What a kernel's code is written with, where its programs are known, too."""
    ids = [Val("i32", name) for name in ("%px", "%py", "%pz")]
    counts = [Val("i32", name) for name in ("%nx", "%ny", "%nz")]
    context = Context(kernel, handlers, ids, counts, source_lines, watches_accesses, choices)
    if kernel.grid is not None:
        context.program_ids = ids_in_order(context.builder, ids, kernel)
        known = [*program_places(kernel.grid), *map(exactly, kernel.grid)]
        for place, interval in zip([*context.program_ids, *counts], known, strict=True):
            context.builder.intervals.note(place, interval)
    return context


def _load_arguments(
    context: Context,
    arguments: Sequence[Value],
    slots: Sequence[int],
    values: Sequence[int | None],
    leads: Sequence[int],
) -> None:
    builder = context.builder
    for argument, slot, value, lead in itertools.zip_longest(arguments, slots, values, leads):
        assert not isinstance(argument.type, TensorType)
        address = builder.element_pointer("i64", Val("ptr", "%args"), integer(slot))
        loaded = builder.load(argument.type.llvm, address, 8)
        if lead:
            loaded = builder.element_pointer("i8", loaded, integer(lead))
        builder.intervals.note(loaded, None if value is None else exactly(value))
        context.bind(argument, loaded)


def _module_text(kernel: Kernel, context: Context, source_lines: SourceLines | None) -> str:
    target, name = kernel.target, kernel.name
    builder = context.builder
    arguments = "ptr noalias readonly %args, i32 %px, i32 %py, i32 %pz, i32 %nx, i32 %ny, i32 %nz"
    attributes = f'nounwind "target-cpu"="{target.cpu}" "target-features"="{target.features}"'
    if isinstance(target, RVVTarget):
        vscale = target.vlen_bits // 64
        attributes += f" vscale_range({vscale},{vscale})"
        if direction := kernel.function.attributes.get(SCHEDULE):
            attributes += f' "{SCHEDULED_BY_LLVM}"="{direction}"'
        if target.machine.shifts_slowly:
            attributes += f' "{ADDED_MOVES}"="{target.vlen_bits}"'
    mark = source_lines.function_mark if source_lines else ""
    lines = [
        f'source_filename = "{name}"',
        f'target triple = "{target.triple}"',
        f'@{ENTRY}_name = constant [{len(name) + 1} x i8] c"{name}\\00"',
        f"@triton_rvv_vlen_bits = constant i32 {target.vector_bits}",
        *builder.constants,
        "",
        f"define void @{ENTRY}({arguments}) #0{mark} {{",
        *entry_lines(builder, context.scratch_bytes),
        *builder.lines,
        "}",
        "",
        *(text for _, text in builder.helpers.values()),
        grid_loop(ENTRY) if target.backend == "host" else "",
        *sorted(builder.declarations),
        f"attributes #0 = {{ {attributes} }}",
        *(source_lines.metadata(name) if source_lines else ()),
        *builder.metadata,
    ]
    return "\n".join(lines) + "\n"

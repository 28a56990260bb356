"""Lowers a kernel's TTIR function to an LLVM module that the launcher can call."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.errors import CompileError
from triton_rvv.frontend.source_lines import SourceLines
from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.loop_strides import ARGUMENT
from triton_rvv.lowering.blocks.registry import Handler
from triton_rvv.lowering.blocks.scratch import entry_lines
from triton_rvv.lowering.control import calls, control
from triton_rvv.lowering.control.grid_loop import grid_loop
from triton_rvv.lowering.elementwise import (
    arith,
    debug,
    gather,
    hints,
    histogram,
    index,
    join,
    shapes,
    special_registers,
)
from triton_rvv.lowering.elementwise.unsupported import REFUSALS
from triton_rvv.lowering.llvm.value_ranges import exactly, program_places
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.memory import atomics, loads, permute, stores
from triton_rvv.lowering.memory.bounds import Access, accesses, with_bounds_checked
from triton_rvv.lowering.products import dot, dot_scaled
from triton_rvv.lowering.reductions import maps, reduce, scan
from triton_rvv.lowering.ttir.accumulators import narrow_accumulators
from triton_rvv.lowering.ttir.aliasing import Aliases, Apart
from triton_rvv.lowering.ttir.bounded_powers import mark_bounded_powers
from triton_rvv.lowering.ttir.interleaved_stores import interleaved_stores
from triton_rvv.lowering.ttir.joint_reductions import join_reductions
from triton_rvv.lowering.ttir.narrow_comparisons import narrow_comparisons
from triton_rvv.targets.target import RVVTarget, Target

__all__ = [
    "BY_ESTIMATE",
    "ENTRY",
    "SCHEDULED_BY_LLVM",
    "LoweredKernel",
    "argument_types",
    "kernel_name",
    "lower_module",
]

# The symbol that a launcher calls, once for each program of the grid.
ENTRY = "triton_rvv_kernel"

# A function's attribute: LLVM's scheduler chooses the order of instructions, in the direction that
# is the attribute's value. For element-wise code and reductions it is 3 to 26% faster on the
# emulated X60. Around a product it is up to 26% slower: the lowering has ordered its tiles, and the
# scheduler puts every load right before its first use.
SCHEDULED_BY_LLVM = "triton-rvv-scheduled-by-llvm"

# The value of the attribute that leaves the direction to an estimate over the code itself.
BY_ESTIMATE = "by-estimate"


def _direction(module: Operation) -> str:
    """The direction in which LLVM's scheduler goes through a block of code, as its option has it.

    Where a reduction compares, lives that are too long count most, in both directions: argmax is a
    tenth slower from the top, which the estimate does not see. Among exponentials it does.
    """
    reductions = (op for op in module.walk() if op.name == "tt.reduce")
    combined = {op.name for reduction in reductions for op in reduction.walk()}
    only_sums = combined <= {"tt.reduce", "tt.reduce.return", "arith.addf", "arith.addi"}
    has_powers = any(op.name in ("math.exp", "math.exp2") for op in module.walk())
    return BY_ESTIMATE if only_sums or has_powers else "bidirectional"


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
    **loads.HANDLERS,
    **stores.HANDLERS,
    **reduce.HANDLERS,
    **scan.HANDLERS,
    **maps.HANDLERS,
    **permute.HANDLERS,
    **join.HANDLERS,
    **gather.HANDLERS,
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
        llir: the text of an LLVM module that exports
            `void triton_rvv_kernel(const uint64_t *args, uint32_t pid_x, pid_y, pid_z, num_x,
            num_y, num_z)`, `triton_rvv_kernel_name` and `triton_rvv_vlen_bits`, and for the host
            also `triton_rvv_run_programs` (see `triton_rvv.lowering.control.grid_loop`).
        apart: the pairs of arguments of which the code is wrong where they lead to the same memory;
            none where arguments may overlap.
        accesses: the accesses to memory, where the code checks them.
    """

    llir: str
    apart: tuple[Apart, ...]
    accesses: tuple[Access, ...] = ()


def lower_module(
    module: Operation,
    target: Target,
    slots: Sequence[int] | None = None,
    source_lines: SourceLines | None = None,
    disjoint_arguments: bool = False,
    checks_bounds: bool = False,
    values: Sequence[int | None] = (),
    grid: Sequence[int] | None = None,
) -> LoweredKernel:
    """Write a kernel as LLVM IR.

    Args:
        module: a `builtin.module` with one public function.
        target: what code is made for.
        slots: for each argument of the function, its place in the launcher's argument array;
            the arguments' own order where it is not given.
        source_lines: where given, marks instructions with the kernel's lines.
        disjoint_arguments: whether different pointer arguments lead to different memory.
        checks_bounds: whether each access to memory is checked (see `lowering.bounds`).
        values: for each argument of the function its value, where that is the same in every run.
        grid: programs along x, y and z, where they are the same in every run.

    Raises:
        CompileError: where the kernel uses what is not supported.
    """
    # Checked code is to be made soon rather than to be fast: nobody estimates which is faster.
    direction = "topdown" if checks_bounds else _direction(module)
    mark_bounded_powers(module)
    narrow_accumulators(module, target)
    narrow_comparisons(module)
    join_reductions(module)
    function = _kernel(module)
    places = [Val("i32", name) for name in ("%px", "%py", "%pz", "%nx", "%ny", "%nz")]
    handlers = {**REFUSALS, **HANDLERS}
    aliases, functions = Aliases(function, disjoint_arguments), _functions(module)
    arguments = function.regions[0].blocks[0].arguments
    if checks_bounds:
        handlers = with_bounds_checked(handlers, module, len(arguments))
    has_product = any(op.name in ("tt.dot", "tt.dot_scaled") for op in module.walk())
    context = Context(
        target,
        handlers,
        places[:3],
        places[3:],
        aliases,
        functions,
        source_lines,
        has_product,
        interleaved_stores(module, aliases),
    )
    if grid is not None:
        for place, known in zip(places, [*program_places(grid), *map(exactly, grid)], strict=True):
            context.builder.intervals.note(place, known)
    _load_arguments(context, arguments, slots or range(len(arguments)), values)
    calls.lower_body(context, function.regions[0].blocks)
    scheduled = "" if has_product else f' "{SCHEDULED_BY_LLVM}"="{direction}"'
    llir = _module_text(kernel_name(module), context, target, source_lines, scheduled)
    checked = accesses(module, aliases) if checks_bounds else ()
    return LoweredKernel(llir, aliases.apart, tuple(checked))


def _load_arguments(
    context: Context,
    arguments: Sequence[Value],
    slots: Sequence[int],
    values: Sequence[int | None],
) -> None:
    builder = context.builder
    for argument, slot, value in itertools.zip_longest(arguments, slots, values):
        assert not isinstance(argument.type, TensorType)
        address = builder.element_pointer("i64", Val("ptr", "%args"), integer(slot))
        loaded = builder.load(argument.type.llvm, address, 8)
        builder.define(loaded, ARGUMENT, ())
        builder.intervals.note(loaded, None if value is None else exactly(value))
        context.bind(argument, loaded)


def kernel_name(module: Operation) -> str:
    """The name of the module's kernel function."""
    return str(_kernel(module).attributes["sym_name"])


def argument_types(module: Operation) -> tuple[str, ...]:
    """MLIR's type name of each of the kernel function's arguments, "ptr" for any pointer."""
    types = (argument.type for argument in _kernel(module).regions[0].blocks[0].arguments)
    return tuple(type_.name if isinstance(type_, ScalarType) else "ptr" for type_ in types)


def _functions(module: Operation) -> dict[str, Operation]:
    """The functions of a module by name."""
    operations = module.regions[0].block.operations
    return {str(op.attributes["sym_name"]): op for op in operations}


def _kernel(module: Operation) -> Operation:
    functions = _functions(module).values()
    public = [op for op in functions if op.attributes.get("sym_visibility") == "public"]
    if len(public) != 1:
        raise CompileError("a module with one public function was expected")
    return public[0]


def _module_text(
    name: str,
    context: Context,
    target: Target,
    source_lines: SourceLines | None,
    scheduled: str,
) -> str:
    builder = context.builder
    arguments = "ptr noalias readonly %args, i32 %px, i32 %py, i32 %pz, i32 %nx, i32 %ny, i32 %nz"
    attributes = f'nounwind "target-cpu"="{target.cpu}" "target-features"="{target.features}"'
    if isinstance(target, RVVTarget):
        vscale = target.vlen_bits // 64
        attributes += f" vscale_range({vscale},{vscale}){scheduled}"
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

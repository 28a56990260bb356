"""`tl.device_print` to where the program around the kernel says, and `tl.device_assert`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import PointerType, ScalarType, TensorType, element_type
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.math.casts import conversion

__all__ = ["ASSERTION_FAILED", "HANDLERS", "PRINT_DESCRIPTOR", "leave_unless"]

# What the program around the kernel does about an assertion (launchers/kernel_abi.h).
ASSERTION_FAILED = "triton_rvv_assertion_failed"

# An int that the program around the kernel may define: the file descriptor that kernels print to.
PRINT_DESCRIPTOR = "triton_rvv_print_descriptor"

_STANDARD_ERROR = integer(2, "i32")
_PROGRAM = "pid (%u, %u, %u)"


@dataclass(frozen=True)
class _Style:
    """How the numbers of one operand are written."""

    element: ScalarType | PointerType
    is_hex: bool
    is_signed: bool

    @property
    def format(self) -> str:
        """What C's printf calls it."""
        if isinstance(self.element, PointerType):
            return "%p"
        if self.is_hex:
            return f"0x%0{max(self.element.bits // 4, 1)}llx"
        if self.element.is_float:
            return "%f"
        return "%lld" if self.is_signed and self.element.bits > 1 else "%llu"

    def argument(self, builder: Builder, value: Val) -> Val:
        """The number in the type that the format asks for."""
        if isinstance(self.element, PointerType):
            return value
        if self.element.is_float and not self.is_hex:
            return conversion(self.element, ScalarType("f64"))(builder, [value])
        if self.element.is_float and not self.element.is_kept_as_bits:
            value = builder.cast("bitcast", value, f"i{self.element.bits}")
        is_signed = self.is_signed and not self.is_hex and self.element.bits > 1
        return builder.resize(value, "i64", is_signed)


def _print(context: Context, operation: Operation) -> None:
    """A line for each element of each operand, in the form that Triton prints on GPUs."""
    prefix = str(operation.attributes["prefix"]).replace("%", "%%")
    is_hex = operation.attributes.get("hex") is True
    signs = operation.integers("isSigned")
    if not operation.operands:
        _print_line(context.builder, f"{_PROGRAM}{prefix}\n", context.program_ids)
    for number, value in enumerate(operation.operands):
        element = element_type(value.type)
        assert not isinstance(element, TensorType)
        label = prefix if len(operation.operands) == 1 else f"{prefix}(operand {number}) "
        _print_value(context, value, label, _Style(element, is_hex, bool(signs[number])))


def _print_value(context: Context, value: Value, label: str, style: _Style) -> None:
    builder, lowered = context.builder, context.lowered(value)
    if isinstance(lowered, Val):
        line = f"{_PROGRAM} idx (){label}{style.format}\n"
        _print_line(builder, line, [*context.program_ids, style.argument(builder, lowered)])
        return
    # As wide as the last place along each dimension.
    places = ", ".join(f"%{len(str(size - 1))}lld" for size in lowered.shape)
    line = f"{_PROGRAM} idx ({places}){label}{style.format}\n"
    for index, element in _elements(context, lowered):
        arguments = [*context.program_ids, *index, style.argument(builder, element)]
        _print_line(builder, line, arguments)


def _elements(context: Context, tensor: Tensor) -> Iterator[tuple[tuple[Val, ...], Val]]:
    """Every element with its place, in row-major order; the caller's `for` is a loop's body."""
    materialise.prepare(context, [tensor])
    array = materialise.materialise(context, tensor)
    for index in index_loops.positions(context, array.shape, unrolled=False):
        yield index, array.at(context.builder, VectorIndex(index[:-1], index[-1], 1))


def _print_line(builder: Builder, line: str, arguments: Sequence[Val]) -> None:
    """Write a line at once, so that those of several threads stay apart."""
    builder.declarations.add("declare i32 @dprintf(i32, ptr, ...)")
    builder.declarations.add(f"@{PRINT_DESCRIPTOR} = weak global {_STANDARD_ERROR}")
    descriptor = builder.load("i32", Val("ptr", f"@{PRINT_DESCRIPTOR}"), 4)
    values = ", ".join(map(str, [descriptor, builder.text(line), *arguments]))
    builder.do(f"call i32 (i32, ptr, ...) @dprintf({values})")


def _assert(context: Context, operation: Operation) -> None:
    """Leave the kernel where the condition does not hold for every element."""
    builder, condition = context.builder, context.lowered(operation.operands[0])
    if isinstance(condition, Tensor):
        holds = Variable(builder, TRUE)
        for _, element in _elements(context, condition):
            holds.write(builder.conjunction(holds.read(), _as_truth(builder, element)))
        condition = holds.read()
    leave_unless(context, _as_truth(builder, condition), operation)


def leave_unless(context: Context, holds: Val, operation: Operation) -> None:
    """Leave the kernel, with the message of a `tt.assert`, where `holds` is false."""
    builder = context.builder
    place, text = operation.line or "the kernel", operation.attributes["message"]
    message = f"{place}: device-side assertion failed: {text}"
    goes_on, fails = builder.fresh_label("holds"), builder.fresh_label("fails")
    builder.branch_if(holds, goes_on, fails)
    builder.label(fails)
    builder.call_void(ASSERTION_FAILED, [builder.text(message), *context.program_ids])
    builder.do("ret void")
    builder.label(goes_on)


def _as_truth(builder: Builder, value: Val) -> Val:
    return value if value.type == "i1" else builder.compare("ne", value, integer(0, value.type))


HANDLERS: Mapping[str, Handler] = {"tt.print": _print, "tt.assert": _assert}

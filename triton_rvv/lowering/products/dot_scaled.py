"""`tl.dot_scaled`: a product of blocks in microscaling formats.

Every 32 elements along K share a scale, a power of two in a byte (E8M0), or every 16 a scale of
8 bits (E4M3); 4-bit elements (E2M1) lie two in a byte. See "OCP Microscaling Formats (MX)
Specification", version 1.0, section 5. Operands become float32, in which each element times its
scale is exact, and are multiplied as those of `tl.dot`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from triton_rvv.frontend.attributes import Attribute
from triton_rvv.frontend.float_formats import SmallFloat
from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.math.lanes import Lanes, where
from triton_rvv.lowering.math.narrow_floats import widen
from triton_rvv.lowering.products.dot import converted, multiply

__all__ = ["HANDLERS"]

_F32 = ScalarType("f32")
# Neither infinity nor NaN: the magnitudes are 0, .5, 1, 1.5, 2, 3, 4 and 6.
_E2M1 = SmallFloat("f4E2M1FN", 2, 1, largest=7, nan=8)
_PER_BYTE = 2
# Triton's enumeration of formats.
_E2M1_NUMBER = 4


def _dot_scaled(context: Context, operation: Operation) -> None:
    left, right, start = operation.operands[:3]
    scales = _scales(operation)
    rank = len(context.tensor(left).shape)
    multiply(
        context,
        operation,
        _operand(context, operation, "a", left, scales[0], rank - 1),
        _operand(context, operation, "b", right, scales[1], rank - 2),
        context.tensor(start),
    )


def _scales(operation: Operation) -> list[Value | None]:
    """The scales of both operands, of which each may be missing."""
    rest, given = operation.operands[3:], operation.integers("operandSegmentSizes")[3:]
    return [rest.pop(0) if is_given else None for is_given in given]


def _operand(
    context: Context, operation: Operation, name: str, value: Value, scale: Value | None, k: int
) -> Tensor:
    """An operand in float32 with its scales multiplied in.

    Args:
        context: where its recipe is.
        name: the operand's in the attributes, "a" or "b".
        scale: its scales, [..., M, K / n] for A, [..., N, K / n] for B.
        k: the dimension of K.
    """
    tensor = context.tensor(value)
    if operation.integer(f"{name}_elem_type") == _E2M1_NUMBER:
        other = 2 * len(tensor.shape) - 3 - k
        along_k = operation.attributes["lhs_k_pack" if name == "a" else "rhs_k_pack"]
        numbers: Tensor = _unpacked(tensor, k if along_k else other)
    else:
        numbers = converted(tensor, _F32)
    if scale is None:
        return numbers
    if k == len(tensor.shape) - 2:
        scale = _transposed(context, operation, scale)
    factors = _as_factors(context.tensor(scale))
    spread = _Repeated(factors, k, numbers.shape[k] // factors.shape[k])
    return Elementwise(numbers.type, _product, [numbers, spread])


def _product(builder: Builder, values: Sequence[Val]) -> Val:
    return builder.binary("fmul", values[0], values[1])


def _transposed(context: Context, operation: Operation, scale: Value) -> Value:
    """The scales of B with K before N, as B itself has it."""
    shape = scale.shape
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    type_ = TensorType(tuple(shape[axis] for axis in order), scale.block.element)
    result = Value(f"{scale.name} transposed", type_, uses=1)
    attributes: dict[str, Attribute] = {"order": list(order)}
    trans = Operation("tt.trans", [scale], [result], attributes, [], [], operation.line)
    context.lower_operation(trans)
    return result


def _as_factors(scale: Tensor) -> Tensor:
    """Scales in float32."""
    assert isinstance(scale.element, ScalarType)
    if scale.element.is_float:
        return converted(scale, _F32)
    return Elementwise(TensorType(scale.shape, _F32), _power_of_two, [scale], cost=4)


def _power_of_two(builder: Builder, values: Sequence[Val]) -> Val:
    """E8M0: 2 ** (code - 127), and NaN for 255."""
    code = Lanes(builder, values[0]).to("i32", signed=False)
    # 2 ** -127 is a denormal float32.
    bits = where(code.equals(0), 1 << 22, code << 23)
    return where(code.equals(0xFF), 0x7FC00000, bits).as_float().value


def _unpacked(packed: Tensor, axis: int) -> Tensor:
    """The numbers of a block of bytes with two each, neighbours along `axis`, low bits first."""
    codes = _Nibbles(_Repeated(packed, axis, _PER_BYTE), axis)
    return Elementwise(TensorType(codes.shape, _F32), _from_e2m1, [codes], cost=4)


def _from_e2m1(builder: Builder, values: Sequence[Val]) -> Val:
    return widen(builder, values[0], _E2M1)


class _Repeated(Tensor):
    """Each element of the operand so many times in a row along an axis."""

    def __init__(self, operand: Tensor, axis: int, times: int) -> None:
        shape = list(operand.shape)
        shape[axis] *= times
        super().__init__(TensorType(tuple(shape), operand.element), [operand])
        self._axis = axis
        self._times = times

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        where_ = list(point.coordinates)
        where_[self._axis] = builder.shift_right(where_[self._axis], self._times.bit_length() - 1)
        width = point.width
        if self._axis == len(where_) - 1:
            width = max(width // self._times, 1)
        moved = replace(point, index=tuple(where_[:-1]), start=where_[-1], width=width, number=None)
        value = self.operands[0].at(builder, moved)
        if width == point.width:
            return value
        if width == 1:
            return builder.splat(value, point.width)
        return builder.shuffle(value, [lane // self._times for lane in range(point.width)])


class _Nibbles(Tensor):
    """The lower half of the bytes at even positions of an axis, the upper half at odd ones."""

    def __init__(self, operand: Tensor, axis: int) -> None:
        super().__init__(operand.type, [operand], cost=2)
        self._axis = axis

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        codes = Lanes(builder, self.operands[0].at(builder, point))
        position = builder.resize(point.coordinates[self._axis], "i8")
        if self._axis == len(self.shape) - 1 and point.width > 1:  # runs start at even positions
            position = builder.iota("i8", point.width)
        odd = builder.binary("and", position, builder.splat(integer(1, "i8"), position.width))
        shift = Lanes(builder, builder.splat(odd, point.width)) << 2
        return (codes.shift_in_zeros(shift) & 0xF).value


HANDLERS: Mapping[str, Handler] = {"tt.dot_scaled": _dot_scaled}

"""Computes what IR on blocks of integers stores, operation by operation, in NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from triton_rvv.frontend.attributes import DenseAttribute
from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.llvm.predicates import predicate_of

__all__ = ["stored"]

Integers = npt.NDArray[np.int64]


def stored(function: Operation, arguments: Sequence[Integers]) -> list[Integers]:
    """What each store of a function writes, in order.

    Args:
        function: of one block of operations and loops, on integers of up to 32 bits.
        arguments: what it is called with, one array of the signed integers for each argument.
    """
    (block,) = function.regions[0].blocks
    found = list[Integers]()
    _run(block, dict(zip(block.arguments, arguments, strict=True)), found)
    return found


def _run(block: Block, values: dict[Value, Integers], found: list[Integers]) -> list[Integers]:
    """What the last operation of a block takes; adds what is stored on the way."""
    for each in block.operations:
        if each.name == "tt.store":
            found.append(values[each.operands[1]])
        elif each.name == "scf.for":
            start, end, step, *carried = (values[value] for value in each.operands)
            body = each.regions[0].block
            for number in range(int(start), int(end), int(step)):
                values.update(zip(body.arguments, [np.array(number), *carried], strict=True))
                carried = _run(body, values, found)
            values.update(zip(each.results, carried, strict=True))
        elif each.results:
            values[each.result] = _wrapped(_result(each, values), _bits(each.result))
    return [values[value] for value in block.operations[-1].operands]


def _bits(value: Value) -> int:
    element = element_type(value.type)
    assert isinstance(element, ScalarType)
    return 64 if element.is_float else element.bits


def _wrapped(value: Integers, bits: int) -> Integers:
    """The signed integers that are left of others in so many bits; truth values are 0 and 1."""
    if bits == 64:
        return value
    low = value & ((1 << bits) - 1)
    return low if bits == 1 else low - ((low >> bits - 1) << bits)


def _unsigned(value: Integers, bits: int) -> Integers:
    return value & ((1 << bits) - 1)


def _result(operation: Operation, values: Mapping[Value, Integers]) -> Integers:
    name = operation.name.partition(".")[2]
    operands = [values[each] for each in operation.operands]
    if name == "constant":
        value = operation.attributes["value"]
        number = value.elements[0] if isinstance(value, DenseAttribute) else value
        assert isinstance(number, int)
        return np.array(number)
    bits = [_bits(each) for each in operation.operands]
    if name == "cmpi":
        name = predicate_of(operation)
        if name.startswith("u"):
            operands = [_unsigned(*each) for each in zip(operands, bits, strict=True)]
        compare: Callable[..., Integers] = getattr(operator, name[-2:])
        return compare(*operands).astype(np.int64)
    if name.endswith("ui") or name == "uitofp":
        operands = [_unsigned(*each) for each in zip(operands, bits, strict=True)]
    if name == "extsi" and bits[0] == 1:
        operands = [-operands[0]]
    if "sh" in name and not ((operands[1] >= 0) & (operands[1] < bits[0])).all():
        raise ValueError("a shift by more bits than there are")
    return _COMPUTED[name](*operands)


def _divided(one: Integers, other: Integers) -> Integers:
    return np.sign(one) * (np.abs(one) // other)


_COMPUTED: Mapping[str, Callable[..., Integers]] = {
    **{
        "addi": operator.add,
        "subi": operator.sub,
        "muli": operator.mul,
        "andi": operator.and_,
        "ori": operator.or_,
    },
    **{"xori": operator.xor, "shli": operator.lshift, "absi": np.abs},
    **dict.fromkeys(("shrsi", "shrui"), operator.rshift),
    **dict.fromkeys(("divsi", "divui"), _divided),
    **dict.fromkeys(("remsi", "remui"), lambda one, other: one - other * _divided(one, other)),
    **dict.fromkeys(("minsi", "minui"), np.minimum),
    **dict.fromkeys(("maxsi", "maxui"), np.maximum),
    **dict.fromkeys(("extsi", "extui", "trunci", "sitofp", "uitofp", "splat"), np.copy),
    "select": np.where,
}

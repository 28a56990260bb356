"""Every function of Triton's libdevice has code for each type that it takes."""

from __future__ import annotations

import inspect
from unittest.mock import Mock

import llvmlite.binding as llvm
import pytest
from triton.language import core
from triton.language.extra.cuda import libdevice as cuda_libdevice

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import parse_type
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, vector_type
from triton_rvv.lowering.math.libdevice import extern

MLIR_NAMES = {"fp32": "f32", "fp64": "f64"}
LLVM_NAMES = {"f32": "float", "f64": "double"}


def overloads(monkeypatch):
    """(symbol, types of the operands, type of the result), in MLIR's names."""
    found = set()

    def record(library, path, operands, by_types, is_pure, _semantic):
        for types, (symbol, result) in by_types.items():
            found.add((symbol, tuple(map(mlir_name, types)), mlir_name(result)))
        return Mock()  # some turn what they are given into truth values

    monkeypatch.setattr(core, "extern_elementwise", record)
    for _, function in inspect.getmembers(cuda_libdevice, inspect.isfunction):
        parameters = inspect.signature(function).parameters
        function(*([None] * (len(parameters) - 1)), _semantic=object())
    return sorted(found)


def mlir_name(type_):
    name = type_.name.replace("uint", "i").replace("int", "i")
    return MLIR_NAMES.get(name, name)


def written(symbol, types, result, width):
    """The function `symbol` as a function of LLVM's IR, and what it needs declared."""
    builder = Builder()
    operands = [
        Val(vector_type(LLVM_NAMES.get(type_, type_), width), f"%x{place}")
        for place, type_ in enumerate(types)
    ]
    values = [Value(f"%{place}", parse_type(type_)) for place, type_ in enumerate(types)]
    results = [Value("%r", parse_type(result))]
    operation = Operation("tt.extern_elementwise", values, results, {"symbol": symbol}, [], [])
    emit, cost = extern(operation)
    assert cost > 0
    value = emit(builder, operands)
    assert value.type == vector_type(LLVM_NAMES.get(result, result), width)
    head = f"define {value.type} @{symbol}({', '.join(map(str, operands))}) {{"
    body = [
        *builder.constants,
        *(text for _, text in builder.helpers.values()),
        head,
        "entry:",
        *builder.allocas,
        *builder.lines,
    ]
    text = "\n".join([*body, f"  ret {value}", "}"])
    return text, builder.declarations


@pytest.mark.parametrize("width", [1, 4])
def test_every_function_can_be_written(monkeypatch, width):
    found = overloads(monkeypatch)
    assert len(found) > 300
    for symbol, types, result in found:
        text, declarations = written(symbol, types, result, width)
        lines = [text, *sorted(declarations), "attributes #0 = { nounwind }"]
        module = llvm.parse_assembly("\n".join(lines))
        module.verify()

"""What a kernel may ask of the machine that it runs on: the time, and which core it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from triton_rvv.frontend.register_symbols import CORE, NANOSECONDS
from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.elementwise import arith
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = ["HANDLERS", "with_counted_clock"]

_CLOCK_MONOTONIC = integer(1, "i32")
# Functions of the C library, and what the launcher has in their place.
_CLOCK, _CPU = "clock_gettime", "sched_getcpu"
_COUNTED = {_CLOCK: "triton_rvv_clock", _CPU: "triton_rvv_core"}


def _nanoseconds(builder: Builder) -> Val:
    time = builder.alloca("i64", 2)
    builder.call("i32", _CLOCK, [_CLOCK_MONOTONIC, time])
    seconds = builder.load("i64", time, 8)
    rest = builder.load("i64", builder.element_pointer("i64", time, integer(1)), 8)
    return builder.add(builder.mul(seconds, integer(10**9)), rest)


def _core(builder: Builder) -> Val:
    return builder.call("i32", _CPU, [])


_FUNCTIONS: Mapping[str, Callable[[Builder], Val]] = {NANOSECONDS: _nanoseconds, CORE: _core}


def with_counted_clock(llir: str) -> str:
    """A module whose kernel asks the launcher, and not the machine, for time and core."""
    for name, counted in _COUNTED.items():
        llir = re.sub(rf"@{name}\b", f"@{counted}", llir)
    return llir


def _extern(context: Context, operation: Operation) -> None:
    function = _FUNCTIONS.get(str(operation.attributes["symbol"]))
    if function is None:
        arith.HANDLERS[operation.name](context, operation)
    else:
        context.bind(operation.result, function(context.builder))


HANDLERS: Mapping[str, Handler] = {"tt.extern_elementwise": _extern}

"""Functions beside a kernel's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val

__all__ = ["INLINED", "call_helper"]

INLINED = "alwaysinline"


def call_helper(
    builder: Builder,
    name: str,
    arguments: Sequence[Val],
    write: Callable[[Builder, Sequence[Val]], Val],
    *,
    inlined: bool = False,
) -> Val:
    """Call a function of this module.

    Args:
        name: tells the function from others; those of one name have the same code and types.
        write: writes its code for parameters of the arguments' types, without constants that lie in
            memory, and gives the result.
        inlined: whether LLVM puts the code where the call is: code with branches, among pieces that
            may have none.
    """
    if name not in builder.helpers:
        parameters = [Val(value.type, f"%p{place}") for place, value in enumerate(arguments)]
        inside = Builder(builder.abilities, builder.choices)
        result = write(inside, parameters)
        assert not inside.constants
        builder.declarations |= inside.declarations
        mark = f"{INLINED} #0" if inlined else "#0"
        head = f"define internal {result.type} @{name}({', '.join(map(str, parameters))}) {mark} {{"
        lines = [head, "entry:", *inside.allocas, *inside.lines, f"  ret {result}", "}", ""]
        builder.helpers[name] = result.type, "\n".join(lines)
    type_, _ = builder.helpers[name]
    return builder.emit(type_, f"call {type_} @{name}({', '.join(map(str, arguments))})")

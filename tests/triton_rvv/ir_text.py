"""IR as tests write it: the body of a kernel's function, with the rest around it."""

from __future__ import annotations

ARGUMENTS = "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32, %wide: i64"


def function(body: str, arguments: str = ARGUMENTS) -> str:
    """A module of one kernel.

    Args:
        body: its operations, in MLIR's generic form, without the return.
        arguments: its arguments with their types.
    """
    return (
        '"builtin.module"() ({\n"tt.func"() ({\n'
        f'^bb0({arguments}):\n{body}\n"tt.return"() : () -> ()\n'
        '}) {sym_name = "kernel", sym_visibility = "public"} : () -> ()\n}) : () -> ()'
    )

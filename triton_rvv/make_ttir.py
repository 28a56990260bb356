"""Runs Triton's own front end: a `@triton.jit` function to TTIR in MLIR's generic form."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from typing import Any

from triton import knobs
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.errors import CompilationError
from triton.runtime.jit import JITCallable

from triton_rvv.compiler import RVVBackend
from triton_rvv.errors import CompileError
from triton_rvv.frontend.ttir_passes import generic_text, optimise
from triton_rvv.frontend.tuples import nested, path_of
from triton_rvv.targets.target import Target

__all__ = ["make_ttir"]


# What Triton says of a function that is used before it is complete, by its name in the IR.
_INCOMPLETE_FUNCTION = re.compile(r"KeyError\('[\w.<>]+\.\w+__\w*'\)")

# Triton parses a kernel and all that it calls each time that it compiles. All that it changes in a
# tree is to mark calls whose results are unused, the same ones each time.
_tree = functools.lru_cache(maxsize=64)(ast.parse)
JITCallable.parse = lambda function: _tree(function.src)


def make_ttir(
    function: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, object],
    divisible_by_16: frozenset[str],
    target: Target,
    known: Mapping[int, int] | None = None,
) -> str:
    """Translate a kernel to optimised TTIR.

    Args:
        function: the `@triton.jit` function.
        signature: Triton's type name for every parameter, "constexpr" for constants; of a tuple
            for each part (`triton_rvv.frontend.tuples`).
        constants: the value of every constexpr.
        divisible_by_16: integers and pointers known to be multiples of 16.
        target: what code is made for.
        known: as for `optimise`.

    Returns:
        The module in generic form, with source locations.

    Raises:
        CompileError: where Triton does not accept the kernel.
        OSError, MemoryError: where this machine does not let Triton read it.
    """
    names = list(function.arg_names)
    attributes = {path_of(name, names): [["tt.divisibility", 16]] for name in divisible_by_16}
    types = {name: nested(name, signature) for name in names}
    values = {path_of(name, names): value for name, value in constants.items()}
    source = ASTSource(function, types, values, attributes)
    gpu_target = GPUTarget(target.backend, target.cpu, target.vector_bits)
    backend = RVVBackend(gpu_target)
    # As in Triton's own JIT: what tl.device_assert needs to have an effect.
    options = backend.parse_options({"debug": function.debug or knobs.runtime.debug})
    context = ir.context()
    ir.load_dialects(context)
    try:
        module = source.make_ir(
            gpu_target,
            options,
            backend.get_codegen_implementation(options),
            backend.get_module_map(),
            context,
        )
    except CompilationError as error:
        cause = _innermost(error)
        if isinstance(cause, OSError | MemoryError):
            raise cause from error
        raise CompileError(_problem(cause), _line(function, error)) from error
    optimise(module, known)
    return generic_text(module)


def _innermost(error: BaseException) -> BaseException:
    """What Triton met, without the errors for the code around it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _problem(error: BaseException) -> str:
    """What is wrong, without the source excerpts around it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" ^")]
    if lines and _INCOMPLETE_FUNCTION.fullmatch(lines[-1]):
        return "a function that calls itself is not supported: write a loop"
    return lines[-1] if lines else type(error).__name__


def _line(function: Any, error: CompilationError) -> str:
    """The line of the kernel's source as "file:line", empty where Triton does not know it."""
    number = getattr(getattr(error, "node", None), "lineno", None)
    if number is None:
        return ""
    source = function.fn
    return f"{source.__code__.co_filename}:{source.__code__.co_firstlineno + number - 1}"

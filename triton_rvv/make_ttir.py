"""Runs Triton's own front end: a `@triton.jit` function to TTIR in MLIR's generic form."""

from __future__ import annotations

import ast
import functools
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
from triton_rvv.frontend.refusals import innermost, line_of, refusal
from triton_rvv.frontend.ttir_passes import generic_text, optimise
from triton_rvv.frontend.tuples import nested, path_of
from triton_rvv.targets.target import Target

__all__ = ["make_ttir"]


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
        cause = innermost(error)
        if isinstance(cause, OSError | MemoryError):
            raise cause from error
        raise CompileError(refusal(error), line_of(function, error)) from error
    optimise(module, known)
    return generic_text(module)

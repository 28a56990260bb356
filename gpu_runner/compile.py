"""From a Triton kernel to a GPU's machine code, on any machine: Triton's compiler needs no GPU."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foundation.config import ParameterValue
from foundation.gpu_limits import GpuLimits
from gpu_runner.errors import GpuCompileError
from gpu_runner.stage_checks import check_shared, stage_checks
from gpu_runner.target import GpuTarget
from launchers.arguments import Argument
from triton_rvv.frontend.tuples import in_order, nested, path_of

__all__ = ["CompiledKernel", "KernelInput", "compile_kernel", "kernel_input"]

# Sizes and addresses that are multiples of this let Triton use wider loads; its JIT compiler makes
# a kernel of its own for them, and so does this.
_DIVISOR = 16

# AMD's kernels may address arrays of less than 2 GiB by offsets of 32 bits.
_SMALL_ARRAY_BYTES = 2**31

_LONGEST_REASON = 300


@dataclass(frozen=True)
class KernelInput:
    """All that machine code is made from, besides the kernel's source.

    One such input serves every shape whose sizes are divisible alike: sizes are arguments.

    Args:
        signature: type of each parameter in the kernel's order; "constexpr" for a constant. Of a
            tuple, of each of its parts (`triton_rvv.frontend.tuples`).
        constants: the value of each constant.
        attributes: by parameter, Triton's letters for what is known of its values: "D" for
            divisible by 16, "S" for an array of less than 2 GiB.
        options: of the compiler, such as num_warps.
    """

    signature: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, object], ...]
    attributes: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, ParameterValue], ...]


@dataclass(frozen=True)
class CompiledKernel:
    """Machine code and what made it.

    Args:
        binary: the cubin or hsaco.
        metadata: Triton's description of it as JSON, which a launch needs.
        shared_bytes: shared memory of one program.
        texts: intermediate representations that people read, by suffix: ".ttir", ".ptx".
        stages_s: seconds of the compilation.
    """

    binary: bytes
    metadata: str
    shared_bytes: int
    texts: Mapping[str, str]
    stages_s: Mapping[str, float]


def kernel_input(
    kernel: Any,
    arguments: Sequence[Argument],
    constants: Mapping[str, object],
    options: Mapping[str, ParameterValue],
    target: GpuTarget,
    blocks: Mapping[str, tuple[int, ...]] | None = None,
) -> KernelInput:
    """The compiler's input for a call with these arguments, as Triton's JIT compiler would see it.

    Integers that are 1 become constants, unless the kernel's author forbids that.

    Args:
        kernel: the `@triton.jit` function.
        arguments: those that are not constexpr; only types, sizes and scalars count.
        constants: values of the constexpr parameters.
        options: of the compiler.
        target: the GPU.
        blocks: what one load of each argument that is a tensor descriptor takes.
    """
    given = {argument.name: argument for argument in arguments}
    parameters = {parameter.name: parameter for parameter in kernel.params}
    parts = [name for name in (*given, *constants) if name.partition("[")[0] in parameters]
    whole = [name for name in parameters if not any(p.startswith(f"{name}[") for p in parts)]
    signature: list[tuple[str, str]] = []
    fixed: list[tuple[str, object]] = []
    attributes: list[tuple[str, str]] = []
    for name in in_order({*parts, *whole}, list(parameters)):
        parameter = parameters[name.partition("[")[0]]
        argument = given.get(name)
        may_specialise = not parameter.do_not_specialize
        if argument is None or (may_specialise and _is_one(argument)):
            signature.append((name, "constexpr"))
            fixed.append((name, constants.get(name) if argument is None else 1))
            continue
        signature.append((name, argument.signature_type(blocks or {})))
        letters = "" if argument.described else _known_of(argument, target)
        if letters and may_specialise and not parameter.do_not_specialize_on_alignment:
            attributes.append((name, letters))
    return KernelInput(
        tuple(signature), tuple(fixed), tuple(attributes), tuple(sorted(options.items()))
    )


def _is_one(argument: Argument) -> bool:
    return (
        not argument.is_pointer
        and argument.type != "i1"
        and type(argument.value) is int
        and (argument.value == 1)
    )


def _known_of(argument: Argument, target: GpuTarget) -> str:
    """Triton's letters for what is known of an argument's values."""
    if argument.is_pointer and argument.lead_bytes % _DIVISOR:
        return ""
    if argument.is_pointer:  # torch's arrays start at multiples of 512
        arrays = [a for a in (argument.value, argument.expected) if a is not None]
        size_bytes = max((getattr(array, "nbytes", 0) for array in arrays), default=0)
        return "DS" if target.backend == "hip" and size_bytes < _SMALL_ARRAY_BYTES else "D"
    is_integer = type(argument.value) is int and argument.type != "i1"
    return "D" if is_integer and int(str(argument.value)) % _DIVISOR == 0 else ""


def compile_kernel(
    kernel: Any,
    made_from: KernelInput,
    target: GpuTarget,
    limits: GpuLimits | None = None,
    *,
    may_spill: bool = False,
) -> CompiledKernel:
    """Compile with Triton's back end for the GPU.

    Args:
        kernel: the `@triton.jit` function.
        made_from: what `kernel_input` gives.
        target: the GPU.
        limits: of the GPU, so that what exceeds them ends early; None for no check.
        may_spill: whether what its loops carry may exceed them.

    Raises:
        GpuCompileError: if Triton or the assembler refuses it, or it exceeds the limits.
        OSError, MemoryError: if this machine does not let them work.
    """
    import triton
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend
    from triton.compiler.errors import CompilationError

    from triton_rvv.frontend.refusals import line_of, refusal

    backend = make_backend(target.triton)
    options = dict(made_from.options)
    _check_options(options, backend, target)
    names = kernel.arg_names
    types = dict(made_from.signature)
    source = ASTSource(
        fn=kernel,
        signature={name: nested(name, types) for name in names},
        constexprs={path_of(name, names): value for name, value in made_from.constants},
        attrs={path_of(n, names): backend.parse_attr(known) for n, known in made_from.attributes},
    )
    start_s = time.perf_counter()
    try:
        with stage_checks(limits, may_spill=may_spill):
            compiled = triton.compile(source, target=target.triton, options=options)
    except (OSError, MemoryError, GpuCompileError):
        raise
    except CompilationError as error:
        line = line_of(kernel, error)
        raise GpuCompileError(f"{line}: {refusal(error)}" if line else refusal(error)) from error
    except Exception as error:  # Triton's passes and assemblers raise errors of many kinds
        raise GpuCompileError(_reason(error)) from error
    if limits is not None:  # what Triton's cache holds comes without stages
        check_shared(limits, int(compiled.metadata.shared))
    texts = {
        f".{stage}": text
        for stage, text in compiled.asm.items()
        if isinstance(text, str) and stage != "source"
    }
    (metadata_path,) = (p for name, p in compiled.metadata_group.items() if name.endswith(".json"))
    metadata = Path(metadata_path).read_text(encoding="utf-8")
    return CompiledKernel(
        binary=compiled.asm[backend.binary_ext],
        metadata=metadata,
        shared_bytes=int(compiled.metadata.shared),
        texts=texts,
        stages_s={"triton": time.perf_counter() - start_s},
    )


def _check_options(options: Mapping[str, object], backend: Any, target: GpuTarget) -> None:
    """Triton ignores options that it does not know, and a configuration would not be what it says.

    Raises:
        GpuCompileError: for one.
    """
    known = type(backend.parse_options({})).__dataclass_fields__
    for name in options:
        if name not in known:
            raise GpuCompileError(
                f"{name} is neither a parameter of the kernel nor an option of {target}"
            )


def _reason(error: BaseException) -> str:
    """The line of a compiler's message that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()] or lines[-1:]
    text = telling[-1] if telling else "no message"
    return f"{type(error).__name__}: {text}"[:_LONGEST_REASON]

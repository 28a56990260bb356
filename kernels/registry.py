"""Kernels by name: each file of this folder with a `SPEC` is a kernel."""

from __future__ import annotations

import ast
import importlib
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from foundation.errors import UserError, nearest
from foundation.programs import python_command
from foundation.triton_options import CONFIG_OPTIONS, GPU_OPTIONS, PREFETCH
from kernels.captured.names import keys_advice
from kernels.own.declared_sizes import (
    DeclaredSizes,
    constants_of_spec,
    sizes_of_file,
    sizes_of_spec,
)
from kernels.own.kernel_path import split_path
from kernels.spec import OWN_OUTPUTS, KernelSpec, Outputs, Problem

__all__ = [
    "check_declared",
    "check_parameters",
    "declared",
    "dtype_name",
    "is_captured_task",
    "is_kernel_file",
    "kernel_names",
    "kernels_with",
    "load_kernel",
    "make_problem",
    "summary",
]

_NOT_KERNELS = {
    *("__init__", "alignment", "on_device", "packed_tiles", "registry", "source_digest"),
    *("source_text", "spec", "unwrapped", "values"),
}
_MAX_SIZE = 2**31 - 1
_OTHER_NAMES = {
    "bfp16": "bf16",
    "fp8e4m3fn": "fp8e4nv",
    "fp8e4m3": "fp8e4nv",
    "fp8e5m2": "fp8e5",
    "bool": "i1",
}


_LONG_NAMES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64"}


def kernel_names() -> list[str]:
    """The registered names, sorted; imports nothing, so that a mistyped name fails at once."""
    stems = (path.stem for path in Path(__file__).parent.glob("*.py"))
    return sorted(stem for stem in stems if stem not in _NOT_KERNELS)


def declared(name: str) -> DeclaredSizes | None:
    """The sizes and element types of a registered kernel, read from its source; None for others."""
    if name not in kernel_names():
        return None
    return sizes_of_spec(Path(__file__).with_name(f"{name}.py"), name)


def kernels_with(sizes: Collection[str], dtype: str | None = None) -> list[str]:
    """The registered kernels that have exactly these sizes, or any if none are given.

    Args:
        sizes: their names.
        dtype: an element type that they take, too, if one is given.

    Raises:
        UserError: if there is none.
    """
    every = [known for name in kernel_names() if (known := declared(name))]
    fitting = [known for known in every if not sizes or set(known.default_shape) == set(sizes)]
    found = [k.kernel for k in fitting if dtype is None or dtype_name(dtype) in k.dtypes]
    if not found:
        asked = [f"has exactly the sizes {', '.join(sizes)}"] if sizes else []
        asked += [f"takes {dtype}"] if fitting else []
        raise UserError(
            f"no kernel {' and '.join(asked)}: "
            f"`{python_command('engine.kernels')}` lists those of each"
        )
    return found


def summary(name: str) -> str:
    """What a registered kernel computes, in a sentence of its source."""
    tree = ast.parse(Path(__file__).with_name(f"{name}.py").read_bytes())
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def is_kernel_file(name: str) -> bool:
    """Whether a kernel's name is the path of a Python file, optionally followed by ":KERNEL"."""
    return name.endswith(".py") or os.sep in name or ".py:" in name


def is_captured_task(name: str) -> bool:
    """Whether a kernel's name is a task of a capture's file: "FILE#KEY"."""
    return re.search(r"#\w+$", name) is not None


def load_kernel(name: str) -> KernelSpec:
    """The kernel of that name; if it is a path, the kernel in the user's own file.

    Args:
        name: a registered name, "path/file.py", "path/file.py:KERNEL" for one of several, or
            "FILE#KEY" or "FILE#KERNEL" for a task of a capture.

    Raises:
        UserError: if there is none.
    """
    if is_captured_task(name):
        from kernels.captured.problem import load_captured

        return load_captured(name)
    if name.endswith(".capture"):
        from kernels.captured.task_file import read_capture

        read_capture(name)  # which says what keeps it from being one
        raise UserError(f"name a task of {name} as {name}#KEY: {keys_advice(name)}")
    if is_kernel_file(name):
        from kernels.own.spec import load_own_kernel

        return load_own_kernel(*split_path(name))
    if name not in kernel_names():
        file = f"{name}.py"
        advice = nearest(name, kernel_names())
        if Path(file).is_file():
            advice = f"did you mean the file {file}?"
        raise UserError(f"there is no kernel named {name}: {advice}")
    return cast(KernelSpec, importlib.import_module(f"kernels.{name}").SPEC)


def check_declared(kernel: str, shape: Mapping[str, int], dtype: str | None = None) -> None:
    """Check a shape and an element type by what the kernel's source declares; imports nothing.

    `make_problem` checks them again, with what only an import tells.

    Args:
        kernel: a name as for `load_kernel`.
        shape: the sizes that were given.
        dtype: element type, if one was given.

    Raises:
        UserError: as `make_problem` does for an unknown dimension or element type, and a size that
            is missing, not positive or too large.
    """
    if is_captured_task(kernel):
        return
    sizes = sizes_of_file(*split_path(kernel)) if is_kernel_file(kernel) else declared(kernel)
    if sizes is None:
        return
    _check_shape(sizes.kernel, sizes.default_shape, shape)
    if dtype is not None and sizes.dtypes:
        _known_dtype(sizes.kernel, sizes.dtypes, dtype)


def check_parameters(kernel: str, names: Iterable[str]) -> None:
    """Refuse names in a configuration that a registered kernel cannot have; imports nothing.

    Args:
        kernel: a name as for `load_kernel`; of a user's own, nothing is known before an import.
        names: of parameters.

    Raises:
        UserError: for a name that is neither a constant of the kernel nor an option of a compiler.
    """
    if kernel not in kernel_names():
        return
    known = constants_of_spec(Path(__file__).with_name(f"{kernel}.py"))
    options = {*CONFIG_OPTIONS, *GPU_OPTIONS, PREFETCH}
    for name in names:
        if name not in known | options:
            raise UserError(f"{kernel} has no parameter {name}: {nearest(name, known)}")


def make_problem(
    spec: KernelSpec,
    shape: Mapping[str, int],
    dtype: str | None = None,
    outputs: Outputs = OWN_OUTPUTS,
    space_name: str = "",
) -> Problem:
    """The kernel at `shape`; dimensions that are not given keep their default size.

    `outputs` and `space_name` are as in `Problem`.

    Raises:
        UserError: for an unknown dimension or element type; an element type that the outputs cannot
            have; a size that is missing, not positive or too large for a kernel's integers;
            another size of a captured launch; arguments that do not fit in this machine's memory.
    """
    _check_shape(spec.name, spec.default_shape, shape)
    if spec.launch_digest and not shape.items() <= spec.default_shape.items():
        raise UserError(
            f"{spec.load_name} has the sizes that were captured: leave out --shape, or capture the "
            "program at others"
        )
    dtype = spec.dtypes[0] if dtype is None else _known_dtype(spec.name, spec.dtypes, dtype)
    outputs = _known_outputs(spec, dtype, outputs)
    problem = Problem(spec, {**spec.default_shape, **shape}, dtype, outputs, space_name)
    _check_fits_in_memory(problem)
    return problem


def _known_dtype(kernel: str, dtypes: Sequence[str], given: str) -> str:
    dtype = dtype_name(given)
    if dtype in dtypes:
        return dtype
    # In the words of who gave it: by Triton's, bfloat is as near to fp64 as to bf16.
    if "float" in given.lower():
        near = nearest(given.lower(), [_LONG_NAMES.get(name, name) for name in dtypes])
    else:
        near = nearest(dtype, dtypes)
    raise UserError(f"{kernel} does not take {given}: {near}")


def _check_shape(kernel: str, default: Mapping[str, int], shape: Mapping[str, int]) -> None:
    for name, size in shape.items():
        if name not in default:
            raise UserError(f"{kernel} has no dimension {name}: {nearest(name, default)}")
        if size <= 0:
            raise UserError(f"the size of {name} is {size}: give it a positive one")
        if size > _MAX_SIZE:
            raise UserError(
                f"the size of {name} is {size}, and kernels take sizes as 32-bit integers: "
                f"give it at most {_MAX_SIZE}"
            )
    missing = [name for name, size in default.items() if not (size or name in shape)]
    if missing:
        raise UserError(
            f"{kernel} has no default size for {missing[0]}: "
            f"give --shape {','.join(f'{name}=...' for name in missing)}"
        )


def _known_outputs(spec: KernelSpec, dtype: str, outputs: Outputs) -> Outputs:
    if outputs.dtype is None:
        return outputs
    wanted, choices = dtype_name(outputs.dtype), spec.output_dtypes.get(dtype, ())
    if not choices:
        raise UserError(
            f"the element type of the outputs of {spec.name} for {dtype} cannot be chosen: "
            "leave it out"
        )
    if wanted not in choices:
        raise UserError(f"{spec.name} has no outputs in {wanted}: {nearest(wanted, choices)}")
    return replace(outputs, dtype=wanted)


def _check_fits_in_memory(problem: Problem) -> None:
    """Reject a problem whose arguments exceed this machine's memory, before they are made.

    This is a lower bound: the reference needs memory beyond the kernel's arguments.
    """
    needed_bytes = problem.spec.traffic_bytes(problem)
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed_bytes > memory_bytes:
        raise UserError(
            f"the arguments of {problem.name} take {needed_bytes / 2**30:.0f} GiB, and this "
            f"machine has {memory_bytes / 2**30:.0f} GiB of memory: give --shape smaller sizes"
        )


def dtype_name(dtype: str) -> str:
    """Triton's name of an element type, from other names: "f32", "float32", "int8", "f8e5m2"."""
    name = dtype.lower().removeprefix("torch.").replace("float", "fp").replace("_", "")
    name = re.sub(r"^f(?=\d)", "fp", name)
    name = re.sub(r"^(u?)int(?=\d)", r"\1" if name.startswith("u") else "i", name)
    return _OTHER_NAMES.get(name, name)

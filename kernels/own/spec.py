"""The KernelSpec of a user's own kernel, made from the functions in its file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from foundation.config import Config
from kernels.own.callable_file import CallableFile, callable_spec, is_callable_file
from kernels.own.journal import Journal
from kernels.own.kernel_file import KernelFile, read_kernel_file
from kernels.own.own_kernel import OwnKernel
from kernels.own.reference_runs import REFERENCE_LIMIT_S
from kernels.spec import KernelSpec, Problem

__all__ = ["answers_of", "load_own_kernel"]


def load_own_kernel(path: Path, kernel: str | None = None) -> KernelSpec:
    """The kernel of a user's file; docs/reference/kernel_file.md lists what the file may contain.

    Args:
        path: of the file.
        kernel: the function's name, if the file has several.

    Raises:
        UserError: if the file cannot be imported or lacks something; later also if one of its
            functions fails.
    """
    if is_callable_file(path):
        return callable_spec(CallableFile(path.resolve()))
    file = read_kernel_file(path, kernel)
    spec = getattr(file.module, "SPEC", None)
    if isinstance(spec, KernelSpec):
        return replace(spec, file=file.load_name, space=spec.space or file.optional("space"))
    return _spec_of(file, OwnKernel(file))


def _spec_of(file: KernelFile, own: OwnKernel) -> KernelSpec:
    return KernelSpec(
        name=file.name,
        kernel=file.function,
        default_shape=own.default_shape(),
        default_config=own.default_config,
        dtypes=own.dtypes(),
        arguments=own.arguments,
        grid=own.grid,
        traffic_bytes=own.traffic_bytes,
        flops=own.flops(),
        constants=own.constants,
        blocks=own.blocks,
        space=own.space,
        file=file.load_name,
        launch_functions=file.launch_functions(),
        # The kernel runs for the check, and for the timed runs.
        arguments_limit_s=0.0 if file.optional("reference") else 2 * REFERENCE_LIMIT_S,
        check=own.check,
        ordered=file.is_ordered,
        kept_inputs=file.kept_inputs,
        on_inputs=own.on_inputs,
        astray=own.astray,
        on_other_sizes=own.on_other_sizes,
        on_gpu=own.on_gpu,
        unused_arguments=own.unused_arguments,
    )


def answers_of(
    path: Path, kernel: str | None, shape: Mapping[str, int], dtype: str
) -> Callable[[str, Sequence[Config | None], Journal], Any]:
    """Answers questions on a kernel, or a callable, by runs in this process.

    Args:
        path, kernel: as for `load_own_kernel`.
        shape, dtype: of its arguments.

    Raises:
        UserError: like `load_own_kernel`.
    """
    own: CallableFile | OwnKernel
    if is_callable_file(path):
        own = CallableFile(path.resolve())
        spec = callable_spec(own)
    else:
        file = read_kernel_file(path, kernel)
        own = OwnKernel(file)
        spec = _spec_of(file, own)
    return functools.partial(own.answer, Problem(spec, shape, dtype))

"""Compiles small Triton kernels, and runs them here and under QEMU against expected outputs."""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import torch
from host_kernels import run_on_host

from kernels.values import TORCH_TYPES, numpy_array
from launchers import STORAGE_TYPES, Argument
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from launchers.output import LauncherReport, parse_launcher_output
from triton_rvv import pipeline
from triton_rvv.codegen import llvm
from triton_rvv.codegen.link import link_elf
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.pipeline import CompiledKernel, compile_kernel
from triton_rvv.runtime.qemu import cpu_option, environment_options, find_qemu
from triton_rvv.targets.host_target import host_target
from triton_rvv.targets.target import RVVTarget, Target

__all__ = ["Expected", "KernelRunner", "as_argument"]

RUN_TIMEOUT_S = 200

Array = npt.NDArray[Any] | torch.Tensor

# bf16 and 8-bit floats come as tensors, since NumPy has no such types.
_NOT_NUMPY = {"i1", "bf16", "fp8e4nv", "fp8e5"}
_TRITON_NAMES = {
    np.dtype(stored): name for name, stored in STORAGE_TYPES.items() if name not in _NOT_NUMPY
}
_TORCH_NAMES = {torch_type: name for name, torch_type in TORCH_TYPES.items()}


@dataclass(frozen=True)
class Expected:
    """An array or tensor that the kernel writes.

    Args:
        array: what it must hold afterwards.
        start: what it holds before; poison where it is not given.
        atol, rtol: as in `Argument`.
    """

    array: Array
    start: Array | None = None
    atol: float = 0.0
    rtol: float = 0.0


class KernelRunner:
    """Runs kernels and fails the test where an output is wrong; executables are built once.

    Attributes:
        stderr: what one run of the grid printed there under QEMU, the last time.
    """

    def __init__(self, folder: Path) -> None:
        self.stderr = ""
        self._folder = folder
        self._built: dict[object, Path] = {}
        self._linked = 0
        self._objects: dict[object, bytes] = {}
        self._ttir: dict[object, str] = {}
        self._on_host: set[object] = set()

    def __call__(
        self,
        kernel: Any,
        *,
        grid: Sequence[int] = (1,),
        vlen_bits: int = 256,
        core: str = "generic-rv64",
        known: Sequence[str] = (),
        one_thread: bool = False,
        **values: Any,
    ) -> LauncherReport:
        """Run `kernel` over `grid` on a core with vectors of `vlen_bits`.

        With the usual length the kernel's first case of floats, of bf16 and of integers alone runs
        on this machine's own processor too, for which a build takes twice as long as for a core.

        Args:
            kernel: the `@triton.jit` function.
            grid: programs along x, y and z; 1 where not given.
            vlen_bits: of the code and of the emulated core.
            core: what the code is made for; others than the usual one need a QEMU that has
                everything of RVA23.
            known: integer parameters for whose values the compiler may specialise.
            one_thread: whether the code asks the launcher for the number of threads, which is 1.
            values: one for each parameter without a default. An array or tensor is an input,
                `Expected` an output; Python numbers are i32 and fp32, NumPy's have their own type.
        """
        fixed = [parameter.name for parameter in kernel.params if parameter.is_constexpr]
        constants = {name: values[name] for name in fixed if name in values}
        arguments = [as_argument(n, values[n]) for n in kernel.arg_names if n not in fixed]
        if all(argument.expected is None for argument in arguments):
            raise ValueError(f"{kernel.__name__} would be checked for nothing: give it Expected")
        specialised = {n: values[n] for n in known}
        target = RVVTarget.named(core, vlen_bits)
        if target == RVVTarget():
            self._run_on_host(kernel, arguments, constants, specialised, (*grid, 1, 1)[:3])
        elf = self._elf(kernel, arguments, constants, specialised, target, one_thread)
        report = self.run_elf(elf, arguments, grid, target)
        assert report.kernel == kernel.__name__
        return report

    def run_elf(
        self, elf: Path, arguments: Sequence[Argument], grid: Sequence[int], target: RVVTarget
    ) -> LauncherReport:
        """Run an executable with the launcher in it on a core like `target`."""
        data, vlen_bits = self._folder / "data", target.vlen_bits
        write_data_file(data, arguments)
        qemu = find_qemu()
        size = ",".join(map(str, (*grid, 1, 1)[:3]))
        launched = [str(elf), str(data), "--grid", size, "--repeats", "0"]
        done = subprocess.run(
            [str(qemu), "-cpu", cpu_option(qemu, target), *environment_options(target), *launched],
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_S,
            check=False,
        )
        report = parse_launcher_output(done.stdout)
        if done.returncode != 0:
            why = (
                report.mismatch
                or report.out_of_bounds
                or f"status {done.returncode} {done.stdout} {done.stderr}"
            )
            raise AssertionError(f"{report.kernel} at VLEN {vlen_bits}: {why}")
        # The launcher runs the grid twice, on different fills of the outputs.
        self.stderr = done.stderr[: len(done.stderr) // 2]
        assert done.stderr == 2 * self.stderr
        assert report.vlen_bits == vlen_bits
        return report

    def _run_on_host(
        self,
        kernel: Any,
        arguments: Sequence[Argument],
        constants: Mapping[str, Any],
        known: Mapping[str, int],
        grid: Sequence[int],
    ) -> None:
        key = _key(kernel, arguments, constants, known)
        if key not in self._objects:
            kind = (kernel, *_kinds(arguments))
            if kind in self._on_host:
                return
            self._on_host.add(kind)
            with mock.patch.object(pipeline, "generate", _generated):
                compiled = self._compiled(kernel, arguments, constants, known, host_target())
            self._objects[key] = compiled.object
        wrong = run_on_host(self._objects[key], arguments, grid)
        if wrong:
            raise AssertionError(f"{kernel.__name__} on this machine: {wrong}")

    def _elf(
        self,
        kernel: Any,
        arguments: Sequence[Argument],
        constants: Mapping[str, Any],
        known: Mapping[str, int],
        target: RVVTarget,
        one_thread: bool,
    ) -> Path:
        key = (*_key(kernel, arguments, constants, known), target, one_thread)
        if key not in self._built:
            compiled = self._compiled(kernel, arguments, constants, known, target, one_thread)
            self._built[key] = self.link(compiled.object, target)
        return self._built[key]

    def _compiled(
        self,
        kernel: Any,
        arguments: Sequence[Argument],
        constants: Mapping[str, Any],
        known: Mapping[str, int],
        target: Target,
        one_thread: bool = False,
    ) -> CompiledKernel:
        """The kernel for a target. Triton's IR is the same for all, and made once."""
        key = _key(kernel, arguments, constants, known)
        ttir = self._ttir.get(key)
        compiled = compile_kernel(
            kernel,
            {argument.name: argument.type for argument in arguments},
            constants,
            target,
            known,
            # As for the boards; on this machine the same kernels run without this promise.
            disjoint_arguments=target.backend == "rvv",
            for_launcher=one_thread,
            parsed=None if ttir is None else parse_module(ttir),
        )
        self._ttir[key] = ttir or compiled.ttir
        return compiled

    def link(self, compiled: bytes, target: RVVTarget) -> Path:
        """An executable of an object file and the launcher."""
        number = self._linked = self._linked + 1
        paths = [self._folder / f"kernel{number}.{suffix}" for suffix in ("o", "elf")]
        paths[0].write_bytes(compiled)
        link_elf([paths[0], launcher_object(target)], paths[1])
        return paths[1]


def _kinds(arguments: Sequence[Argument]) -> list[str]:
    """Which of floats, bf16 and integers lie in arrays: conversions of bf16 have their own code."""
    return sorted({argument.element_type[0] for argument in arguments if argument.is_pointer})


def _key(
    kernel: Any,
    arguments: Sequence[Argument],
    constants: Mapping[str, Any],
    known: Mapping[str, int],
) -> tuple[object, ...]:
    types = ((argument.name, argument.type) for argument in arguments)
    return (kernel, *types, *constants.items(), *known.items())


def _generated(llir: str, target: Target) -> llvm.MachineCode:
    """The host's code of a module: every fourth one is optimised.

    What LLVM does to code for this machine is no part of the lowering, and takes half of the time
    of these tests. Code for the cores is always optimised.
    """
    optimises = zlib.crc32(llir.encode()) % 4 == 0
    return (llvm.generate if optimises else llvm.generate_unoptimised)(llir, target)


def as_argument(name: str, value: Any) -> Argument:
    """How a value of a test reaches the launcher."""
    if isinstance(value, Expected):
        kind, expected = _pointer(value.array)
        start = None if value.start is None else _pointer(value.start)[1]
        return Argument(name, kind, start, expected, value.atol, value.rtol)
    if isinstance(value, np.ndarray | torch.Tensor):
        return Argument(name, *_pointer(value))
    if isinstance(value, bool | np.bool_):
        return Argument(name, "u1", bool(value))
    if isinstance(value, np.generic):
        return Argument(name, _TRITON_NAMES[value.dtype], value.item())
    return Argument(name, "fp32" if isinstance(value, float) else "i32", value)


def _pointer(array: Array) -> tuple[str, npt.NDArray[Any]]:
    """The type of a pointer to the array, and the array as it lies in memory."""
    if isinstance(array, torch.Tensor):
        return f"*{_TORCH_NAMES[array.dtype]}", numpy_array(array)
    if array.dtype == np.bool_:
        return "*i1", array.astype(np.uint8)
    return f"*{_TRITON_NAMES[array.dtype]}", array

"""Compiles small Triton kernels, links them and runs them under QEMU against expected outputs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from launchers import Argument
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from launchers.output import LauncherReport, parse_launcher_output
from triton_rvv.link import link_elf
from triton_rvv.pipeline import compile_kernel
from triton_rvv.target import RVVTarget

__all__ = ["Expected", "KernelRunner"]

RUN_TIMEOUT_S = 60

Array = npt.NDArray[Any]

_TRITON_NAMES = {
    np.dtype(numpy_type): name
    for name, numpy_type in {
        "i8": np.int8,
        "u8": np.uint8,
        "i16": np.int16,
        "i32": np.int32,
        "u32": np.uint32,
        "i64": np.int64,
        "u64": np.uint64,
        "fp16": np.float16,
        "fp32": np.float32,
        "fp64": np.float64,
    }.items()
}


@dataclass(frozen=True)
class Expected:
    """An array that the kernel writes.

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
    """Runs kernels and fails the test where an output is wrong; executables are built once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._built: dict[object, Path] = {}

    def __call__(
        self,
        kernel: Any,
        *,
        grid: Sequence[int] = (1,),
        vlen_bits: int = 256,
        known: Sequence[str] = (),
        **values: Any,
    ) -> LauncherReport:
        """Run `kernel` over `grid` on a core with vectors of `vlen_bits`.

        Args:
            kernel: the `@triton.jit` function.
            grid: programs along x, y and z; 1 where not given.
            vlen_bits: of the code and of the emulated core.
            known: integer parameters for whose values the compiler may specialise.
            values: one for each parameter. An array is an input, `Expected` an output; Python
                numbers are i32 and fp32, NumPy's have their own type.
        """
        constants = {
            parameter.name: values[parameter.name]
            for parameter in kernel.params
            if parameter.is_constexpr
        }
        arguments = [_argument(n, values[n]) for n in kernel.arg_names if n not in constants]
        elf = self._elf(kernel, arguments, constants, {n: values[n] for n in known}, vlen_bits)
        data = self._folder / "data"
        write_data_file(data, arguments)
        cpu = f"rv64,v=true,vlen={vlen_bits},vext_spec=v1.0,Zfh=true,zba=true,zbb=true,zbs=true"
        size = ",".join(map(str, (*grid, 1, 1)[:3]))
        done = subprocess.run(
            ["qemu-riscv64", "-cpu", cpu, str(elf), str(data), "--grid", size, "--repeats", "0"],
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_S,
            check=False,
        )
        report = parse_launcher_output(done.stdout)
        if done.returncode != 0:
            why = report.mismatch or f"status {done.returncode} {done.stdout} {done.stderr}"
            raise AssertionError(f"{kernel.__name__} at VLEN {vlen_bits}: {why}")
        assert report.kernel == kernel.__name__
        assert report.vlen_bits == vlen_bits
        return report

    def _elf(
        self,
        kernel: Any,
        arguments: Sequence[Argument],
        constants: Mapping[str, Any],
        known: Mapping[str, int],
        vlen_bits: int,
    ) -> Path:
        signature = {argument.name: argument.type for argument in arguments}
        key = (kernel, *signature.items(), *constants.items(), *known.items(), vlen_bits)
        if key not in self._built:
            target = RVVTarget(vlen_bits)
            compiled = compile_kernel(kernel, signature, constants, target, known)
            stem = self._folder / f"kernel{len(self._built)}"
            stem.with_suffix(".o").write_bytes(compiled.object)
            elf = stem.with_suffix(".elf")
            link_elf([stem.with_suffix(".o"), launcher_object(target)], elf)
            self._built[key] = elf
        return self._built[key]


def _argument(name: str, value: Any) -> Argument:
    if isinstance(value, Expected):
        kind, expected = _pointer(value.array)
        start = None if value.start is None else _pointer(value.start)[1]
        return Argument(name, kind, start, expected, value.atol, value.rtol)
    if isinstance(value, np.ndarray):
        return Argument(name, *_pointer(value))
    if isinstance(value, np.generic):
        return Argument(name, _TRITON_NAMES[value.dtype], value.item())
    return Argument(name, "fp32" if isinstance(value, float) else "i32", value)


def _pointer(array: Array) -> tuple[str, Array]:
    """The type of a pointer to the array, and the array as it lies in memory."""
    if array.dtype == np.bool_:
        return "*i1", array.astype(np.uint8)
    return f"*{_TRITON_NAMES[array.dtype]}", array

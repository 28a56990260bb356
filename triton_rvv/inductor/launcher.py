"""Writes the Python function that starts a kernel of Inductor's.

The launcher that Triton's other kernels have takes a few microseconds to sort arguments of any
kind; Inductor's are tensors and numbers whose places are known.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import torch
from torch._inductor.runtime.triton_helpers import get_constexprs
from torch._inductor.runtime.triton_heuristics import GridExpr, TritonCompileResult

from triton_rvv.inductor.parallel import openmp_start
from triton_rvv.lowering.control.grid_loop import CALL_HEADER
from triton_rvv.runtime.host_assertions import raise_failed_assertion
from triton_rvv.runtime.host_loader import LoadedKernel
from triton_rvv.runtime.host_scratch import raise_out_of_memory

__all__ = ["HostCompileResult"]

# Each thread takes its programs in so many portions, so that none waits long for the last one.
_PORTIONS_PER_THREAD = 8

# How an argument lies in its slot, by MLIR's type name, and how Python gets at its value.
_SLOTS = {
    "ptr": ("Q", "{}.data_ptr()"),
    "i1": ("q", "{}"),
    "i32": ("q", "{}"),
    "i64": ("q", "{}"),
    "f32": ("f4x", "{}"),
    "f64": ("d", "{}"),
}


class HostCompileResult(TritonCompileResult):
    """A compiled kernel whose launcher goes straight to torch's threads where it can."""

    @classmethod
    def of(cls, result: TritonCompileResult) -> HostCompileResult:
        """The same kernel, to be launched here."""
        return cls(result.kernel, result.config, result.compile_meta, result.inductor_meta)

    def make_launcher(self) -> Any:
        """What calls the kernel with Inductor's arguments, which include the sizes of its grid."""
        launcher = super().make_launcher()
        start = openmp_start()
        if start is None or self._is_watched() or not self._is_plain():
            return launcher
        quick = self._quick_launcher(start)
        quick.__dict__.update(launcher.__dict__)
        return quick

    def _is_watched(self) -> bool:
        """Whether a profiler wants to hear of launches."""
        from triton import knobs

        hooks = (knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook)
        return any(hook is not None and getattr(hook, "calls", True) for hook in hooks)

    def _is_plain(self) -> bool:
        """Whether each argument fills one slot, and nothing is to be done before or after."""
        metadata = self.kernel.metadata
        if metadata.apart or metadata.accesses or metadata.prints:
            return False
        return all(type_ in _SLOTS for type_ in self.kernel.metadata.argument_types) and not any(
            isinstance(type_, tuple) or type_.startswith("tensordesc")
            for type_ in self.kernel.src.signature.values()
        )

    def _quick_launcher(self, start: Any) -> Any:
        kernel = self.kernel
        loaded: LoadedKernel = kernel.function
        types = kernel.metadata.argument_types
        call_args, def_args, _ = self._get_arg_lists(
            kernel.src.fn.arg_names, get_constexprs(kernel.src.fn)
        )
        passed = [
            arg
            for arg, type_ in zip(call_args, kernel.src.signature.values(), strict=True)
            if type_ != "constexpr"
        ]
        values = [_SLOTS[type_][1].format(arg) for arg, type_ in zip(passed, types, strict=True)]
        layout = CALL_HEADER.format + "".join(_SLOTS[type_][0] for type_ in types)
        scope = {
            "grid_meta": self.config.kwargs,
            "run": ctypes.cast(loaded.run_programs, ctypes.c_void_p).value,
            "kernel": loaded,
            "pack": struct.Struct(layout).pack,
            "start": start,
            "num_threads": torch.get_num_threads,
            "portions": _PORTIONS_PER_THREAD,
            "raise_failed_assertion": raise_failed_assertion,
            "raise_out_of_memory": raise_out_of_memory,
        }
        source = _launcher_source(self._grid_lines(), def_args, values)
        exec(source, scope)  # as Inductor makes its own launchers
        return scope["launcher"]

    def _grid_lines(self) -> list[str]:
        grid = GridExpr.from_meta(self.inductor_meta, self.config)
        return [*grid.prefix, f"x = {grid.x_grid}", f"y = {grid.y_grid}", f"z = {grid.z_grid}"]


def _launcher_source(grid: list[str], def_args: list[str], values: list[str]) -> str:
    body = [
        *grid,
        "programs = x * y * z",
        "if programs > 0:",
        "    threads = min(num_threads(), programs)",
        "    chunk = programs // (threads * portions) or 1",
        f"    start(run, pack(0, programs, chunk, x, y, z, 0, {', '.join(values)}), threads)",
        "    raise_failed_assertion()",
        "    raise_out_of_memory()",
    ]
    head = f"def launcher({', '.join(def_args)}, stream):"
    return "\n    ".join([head, *body])

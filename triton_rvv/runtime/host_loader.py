"""Loads an object file for this machine into this process, ready to be called."""

from __future__ import annotations

import ctypes
import functools
import itertools
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from triton_rvv.codegen.llvm import target_machine
from triton_rvv.lowering.blocks.scratch import PROVIDER
from triton_rvv.lowering.control.grid_loop import GRID_LOOP_ENTRY
from triton_rvv.lowering.elementwise.debug import ASSERTION_FAILED, PRINT_DESCRIPTOR
from triton_rvv.runtime.host_assertions import HANDLER_ADDRESS
from triton_rvv.runtime.host_scratch import PROVIDER_ADDRESS
from triton_rvv.targets.host_target import host_target

__all__ = ["LoadedKernel", "load_object"]

# void(call): with one parameter ctypes takes a sixth of the time that it takes with the call's
# seven parts. Other Python threads run meanwhile.
_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_char_p)

# Where the functions are that compiled code may call: mathematics, and conversions that the
# processor has no instruction for.
_LIBRARIES = ("libm.so.6", "libgcc_s.so.1")

# Kernels print where Python's own output goes, as Triton's other targets do.
_standard_output = ctypes.c_int(1)

_serial_numbers = itertools.count()


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel in memory.

    Args:
        run_programs: `triton_rvv_run_programs` of the object, which
            `triton_rvv.lowering.control.grid_loop` writes. It counts programs in the bytes of a
            call, so each call needs its own.
        code: owns the memory that the function lies in.
    """

    run_programs: Any
    code: Any


def load_object(content: bytes) -> LoadedKernel:
    """Link an object file into this process; it finds the C library's functions there.

    Raises:
        RuntimeError: where it calls a function that this process does not have, which LLVM names on
            standard error.
    """
    library = llvm.JITLibraryBuilder().add_object_img(content).add_current_process()
    library.import_symbol(ASSERTION_FAILED, HANDLER_ADDRESS)
    library.import_symbol(PROVIDER, PROVIDER_ADDRESS)
    library.import_symbol(PRINT_DESCRIPTOR, ctypes.addressof(_standard_output))
    library.export_symbol(GRID_LOOP_ENTRY)
    code = library.link(_linker(), f"kernel{next(_serial_numbers)}")
    return LoadedKernel(_PROTOTYPE(code[GRID_LOOP_ENTRY]), code)


@functools.cache
def _linker() -> Any:
    for name in _LIBRARIES:
        llvm.load_library_permanently(name)
    return llvm.create_lljit_compiler(target_machine(host_target()), use_jit_link=True)

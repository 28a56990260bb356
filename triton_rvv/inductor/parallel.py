"""Runs a grid's programs on torch's own OpenMP threads, in one call out of Python."""

from __future__ import annotations

import ctypes
import functools
import re
import resource
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm

from triton_rvv.codegen.llvm import generate, target_machine
from triton_rvv.runtime.workers import STACK_BYTES
from triton_rvv.targets.host_target import host_target

__all__ = ["openmp_start"]

# void GOMP_parallel(void (*work)(void *), void *data, unsigned threads, unsigned flags) is what GCC
# makes of `#pragma omp parallel`; LLVM's OpenMP has it as well.
_PARALLEL = "GOMP_parallel"

_START = """
declare void @GOMP_parallel(ptr, ptr, i32, i32)

define void @start(ptr %run, ptr %call, i32 %threads) #0 {
  %alone = icmp ule i32 %threads, 1
  br i1 %alone, label %one, label %many

one:
  call void %run(ptr %call)
  ret void

many:
  call void @GOMP_parallel(ptr %run, ptr %call, i32 %threads, i32 0)
  ret void
}

attributes #0 = { nounwind }
"""


@functools.cache
def openmp_start() -> Callable[[int, bytes, int], None] | None:
    """A function that runs a grid's programs on a number of threads, and returns after the last.

    It takes the address of `triton_rvv_run_programs`, the call that this takes, and the number.
    Threads are those on which torch's own operations run, so the two never compete for cores.

    Returns:
        None where torch runs on no OpenMP that can be found, or threads' stacks are too small.
    """
    soft_bytes, _ = resource.getrlimit(resource.RLIMIT_STACK)
    library = _openmp()
    # Where there is no limit, threads get the C library's own size, which is smaller.
    if library is None or soft_bytes < STACK_BYTES or soft_bytes == resource.RLIM_INFINITY:
        return None
    builder = llvm.JITLibraryBuilder().add_object_img(generate(_START, host_target()).object)
    builder.import_symbol(_PARALLEL, ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value)
    builder.export_symbol("start")
    machine = target_machine(host_target())
    code = builder.link(llvm.create_lljit_compiler(machine, use_jit_link=True), "openmp_start")
    _loaded.append(code)
    start: Callable[[int, bytes, int], None] = _PROTOTYPE(code["start"])
    return start


_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32)

# What owns the memory that the function lies in.
_loaded: list[object] = []


def _openmp() -> ctypes.CDLL | None:
    """The OpenMP that torch has loaded, whatever its file is called."""
    try:
        mapped = Path("/proc/self/maps").read_text().split()
    except OSError:
        return None
    for name in mapped:
        if re.search(r"/lib(gomp|omp|iomp5)[^/]*\.so[^/]*$", name):
            library = ctypes.CDLL(name)
            if hasattr(library, _PARALLEL):
                return library
    return None

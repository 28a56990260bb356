"""Runs a grid's programs on torch's own OpenMP threads, in one call out of Python."""

from __future__ import annotations

import ctypes
import functools
import re
import resource
import struct
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm

from triton_rvv.codegen import generate, target_machine
from triton_rvv.host_target import host_target
from triton_rvv.workers import STACK_BYTES

__all__ = ["HEADER", "openmp_start"]

# What stands before a kernel's own arguments: address of `triton_rvv_run_programs`, programs,
# programs that a thread takes at a time, and the grid's sizes; a multiple of eight bytes.
HEADER = struct.Struct("<QQQIIII")

# void GOMP_parallel(void (*work)(void *), void *data, unsigned threads, unsigned flags) is what GCC
# makes of `#pragma omp parallel`; LLVM's OpenMP has it as well.
_PARALLEL = "GOMP_parallel"

# Every thread runs @work; the counter of programs, first in the frame, is on the caller's stack.
_START = """
%frame = type { i64, ptr }

declare void @GOMP_parallel(ptr, ptr, i32, i32)

define internal void @work(ptr %frame) #0 {
  %call.at = getelementptr inbounds %frame, ptr %frame, i64 0, i32 1
  %call = load ptr, ptr %call.at
  %run = load ptr, ptr %call
  %programs.at = getelementptr inbounds i8, ptr %call, i64 8
  %programs = load i64, ptr %programs.at
  %chunk.at = getelementptr inbounds i8, ptr %call, i64 16
  %chunk = load i64, ptr %chunk.at
  %x.at = getelementptr inbounds i8, ptr %call, i64 24
  %x = load i32, ptr %x.at
  %y.at = getelementptr inbounds i8, ptr %call, i64 28
  %y = load i32, ptr %y.at
  %z.at = getelementptr inbounds i8, ptr %call, i64 32
  %z = load i32, ptr %z.at
  %args = getelementptr inbounds i8, ptr %call, i64 40
  call void %run(ptr %args, ptr %frame, i64 %programs, i64 %chunk, i32 %x, i32 %y, i32 %z)
  ret void
}

define void @start(ptr %call, i32 %threads) #0 {
  %frame = alloca %frame
  store i64 0, ptr %frame
  %call.at = getelementptr inbounds %frame, ptr %frame, i64 0, i32 1
  store ptr %call, ptr %call.at
  %alone = icmp ule i32 %threads, 1
  br i1 %alone, label %one, label %many

one:
  call void @work(ptr %frame)
  ret void

many:
  call void @GOMP_parallel(ptr @work, ptr %frame, i32 %threads, i32 0)
  ret void
}

attributes #0 = { nounwind }
"""


@functools.cache
def openmp_start() -> Callable[[bytes, int], None] | None:
    """A function that runs a grid's programs on a number of threads, and returns after the last.

    It takes the call, which is `HEADER` with the kernel's argument array behind it. Threads are
    those on which torch's own operations run, so the two never compete for cores.

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
    start: Callable[[bytes, int], None] = _PROTOTYPE(code["start"])
    return start


_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_uint32)

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

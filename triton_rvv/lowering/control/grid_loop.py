"""The loop over programs of a grid, as LLVM IR that stands next to a kernel."""

from __future__ import annotations

import struct

__all__ = ["CALL_HEADER", "GRID_LOOP_ENTRY", "grid_loop"]

# void(void *call), where a call is CALL_HEADER with the kernel's argument array behind it.
GRID_LOOP_ENTRY = "triton_rvv_run_programs"

# The next program to be taken, at first 0; the end of programs; how many are taken at a time; the
# grid's sizes along x, y and z; and 0, so that the arguments lie at a multiple of eight bytes.
CALL_HEADER = struct.Struct("<QQQIIII")

_LOOP = f"""
define void @{GRID_LOOP_ENTRY}(ptr %call) #0 {{{{
entry:
  %end.at = getelementptr inbounds i8, ptr %call, i64 8
  %end = load i64, ptr %end.at
  %chunk.at = getelementptr inbounds i8, ptr %call, i64 16
  %chunk = load i64, ptr %chunk.at
  %nx.at = getelementptr inbounds i8, ptr %call, i64 24
  %nx = load i32, ptr %nx.at
  %ny.at = getelementptr inbounds i8, ptr %call, i64 28
  %ny = load i32, ptr %ny.at
  %nz.at = getelementptr inbounds i8, ptr %call, i64 32
  %nz = load i32, ptr %nz.at
  %args = getelementptr inbounds i8, ptr %call, i64 {CALL_HEADER.size}
  %wide.nx = zext i32 %nx to i64
  %wide.ny = zext i32 %ny to i64
  br label %take

take:
  %first = atomicrmw add ptr %call, i64 %chunk monotonic
  %left = icmp ult i64 %first, %end
  br i1 %left, label %taken, label %done

taken:
  %beyond = add i64 %first, %chunk
  %beyond.fits = icmp ult i64 %beyond, %end
  %last = select i1 %beyond.fits, i64 %beyond, i64 %end
  %first.x = urem i64 %first, %wide.nx
  %first.row = udiv i64 %first, %wide.nx
  %first.y = urem i64 %first.row, %wide.ny
  %first.z = udiv i64 %first.row, %wide.ny
  %x.0 = trunc i64 %first.x to i32
  %y.0 = trunc i64 %first.y to i32
  %z.0 = trunc i64 %first.z to i32
  br label %program

program:
  %at = phi i64 [ %first, %taken ], [ %at.next, %program ]
  %x = phi i32 [ %x.0, %taken ], [ %x.next, %program ]
  %y = phi i32 [ %y.0, %taken ], [ %y.next, %program ]
  %z = phi i32 [ %z.0, %taken ], [ %z.next, %program ]
  call void @{{entry}}(ptr %args, i32 %x, i32 %y, i32 %z, i32 %nx, i32 %ny, i32 %nz)
  %x.more = add i32 %x, 1
  %x.ends = icmp eq i32 %x.more, %nx
  %x.next = select i1 %x.ends, i32 0, i32 %x.more
  %x.carry = zext i1 %x.ends to i32
  %y.more = add i32 %y, %x.carry
  %y.ends = icmp eq i32 %y.more, %ny
  %y.next = select i1 %y.ends, i32 0, i32 %y.more
  %y.carry = zext i1 %y.ends to i32
  %z.next = add i32 %z, %y.carry
  %at.next = add i64 %at, 1
  %more = icmp ult i64 %at.next, %last
  br i1 %more, label %program, label %take

done:
  ret void
}}}}
"""


def grid_loop(entry: str) -> str:
    """The function `triton_rvv_run_programs`, for a module that defines `entry`.

    It runs programs of a grid until none is left. Any number of threads may be in it at once with
    one call: each takes the next chunk of programs from the call's counter. Programs are counted
    with x fastest.

    Args:
        entry: runs one program; it has the attributes #0.
    """
    return _LOOP.format(entry=entry)

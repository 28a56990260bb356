"""The loop over programs of a grid, as LLVM IR that stands next to a kernel."""

from __future__ import annotations

__all__ = ["GRID_LOOP_ENTRY", "grid_loop"]

# void(const uint64_t *args, uint64_t *next, uint64_t end, uint64_t chunk,
#      uint32_t num_x, uint32_t num_y, uint32_t num_z)
GRID_LOOP_ENTRY = "triton_rvv_run_programs"

_PARAMETERS = "ptr %args, ptr %next, i64 %end, i64 %chunk, i32 %nx, i32 %ny, i32 %nz"
_LOOP = f"""
define void @{GRID_LOOP_ENTRY}({_PARAMETERS}) #0 {{{{
entry:
  %wide.nx = zext i32 %nx to i64
  %wide.ny = zext i32 %ny to i64
  br label %take

take:
  %first = atomicrmw add ptr %next, i64 %chunk monotonic
  %left = icmp ult i64 %first, %end
  br i1 %left, label %taken, label %done

taken:
  %beyond = add i64 %first, %chunk
  %beyond.fits = icmp ult i64 %beyond, %end
  %last = select i1 %beyond.fits, i64 %beyond, i64 %end
  br label %program

program:
  %at = phi i64 [ %first, %taken ], [ %at.next, %program ]
  %wide.x = urem i64 %at, %wide.nx
  %row = udiv i64 %at, %wide.nx
  %wide.y = urem i64 %row, %wide.ny
  %wide.z = udiv i64 %row, %wide.ny
  %x = trunc i64 %wide.x to i32
  %y = trunc i64 %wide.y to i32
  %z = trunc i64 %wide.z to i32
  call void @{{entry}}(ptr %args, i32 %x, i32 %y, i32 %z, i32 %nx, i32 %ny, i32 %nz)
  %at.next = add i64 %at, 1
  %more = icmp ult i64 %at.next, %last
  br i1 %more, label %program, label %take

done:
  ret void
}}}}
"""


def grid_loop(entry: str) -> str:
    """The function `triton_rvv_run_programs`, for a module that defines `entry`.

    It runs programs of a grid until none is left. Any number of threads may be in it at once: each
    takes the next `chunk` of them from the shared counter `next`, which starts at 0. Programs are
    counted with x fastest, up to `end`.

    Args:
        entry: runs one program; it has the attributes #0.
    """
    return _LOOP.format(entry=entry)

"""Keeps code from a fault of LLVM 22: a prefetch 4,064 bytes from a register ends the process.

RISC-V's prefetches take distances in steps of 32 up to 2,016, so LLVM adds what is beyond that to
the register by `addi`. It does so up to 4,065, and the last two sums do not fit `addi`
(SelectAddrRegImmLsb00000 in LLVM's RISCVISelDAGToDAG.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from triton_rvv.codegen.changed_lines import with_changed_lines

__all__ = ["without_far_prefetches"]

_TOO_FAR_BYTES = (4064, 4065)
# As far as LLVM can select; where the array is aligned, in the same line.
_NEARER_BYTES = 32

_CALL = re.compile(r" *call void @llvm\.prefetch\.\w+\(ptr (?:\w+ )*(%[-\w.]+),.*")
_ADDRESS = re.compile(r" *(%[-\w.]+) = getelementptr (?:\w+ )*i8, ptr (%[-\w.]+), i64 (-?\d+)")


def without_far_prefetches(llir: str) -> str:
    """The text of an optimised module in which such prefetches ask for 32 bytes before."""
    return with_changed_lines(llir, _nearer) if "@llvm.prefetch" in llir else llir


def _nearer(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    found = filter(None, (_ADDRESS.match(line) for line in lines if " i8, ptr " in line))
    addresses = {match[1]: (match[2], int(match[3])) for match in found}
    for number, line in enumerate(lines):
        if "@llvm.prefetch" not in line or (call := _CALL.fullmatch(line)) is None:
            continue
        pointer = base = call[1]
        distance_bytes = 0
        while base in addresses:
            base, further_bytes = addresses[base]
            distance_bytes += further_bytes
            if distance_bytes in _TOO_FAR_BYTES:
                near = f"{pointer}.near{number}"
                address = f"{near} = getelementptr i8, ptr {pointer}, i64 -{_NEARER_BYTES}"
                yield number, f"  {address}\n{line.replace(pointer + ',', near + ',', 1)}"
                break

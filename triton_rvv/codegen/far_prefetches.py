"""Keeps code from a fault of LLVM 22: a prefetch 4,064 bytes from a register ends the process.

RISC-V's prefetches take distances in steps of 32 up to 2,016, so LLVM adds what is beyond that to
the register by `addi`. It does so up to 4,065, and the last two sums do not fit `addi`
(SelectAddrRegImmLsb00000 in LLVM's RISCVISelDAGToDAG.cpp).
"""

from __future__ import annotations

import re

__all__ = ["without_far_prefetches"]

_TOO_FAR_BYTES = (4064, 4065)
# As far as LLVM can select; where the array is aligned, in the same line.
_NEARER_BYTES = 32

_CALL = re.compile(r"^ *call void @llvm\.prefetch\.\w+\(ptr (?:\w+ )*(%[-\w.]+),.*$", re.MULTILINE)
_ADDRESS = re.compile(r" *(%[-\w.]+) = getelementptr (?:\w+ )*i8, ptr (%[-\w.]+), i64 (-?\d+)")


def without_far_prefetches(llir: str) -> str:
    """The text of an optimised module in which such prefetches ask for 32 bytes before."""
    if "@llvm.prefetch" not in llir:
        return llir
    lines = (line for line in llir.splitlines() if " = getelementptr " in line)
    found = filter(None, map(_ADDRESS.match, lines))
    addresses = {match[1]: (match[2], int(match[3])) for match in found}

    def nearer(call: re.Match[str]) -> str:
        text, pointer = call[0], call[1]
        base, distance_bytes = pointer, 0
        while base in addresses:
            base, further_bytes = addresses[base]
            distance_bytes += further_bytes
            if distance_bytes in _TOO_FAR_BYTES:
                near = f"{pointer}.near{call.start()}"
                address = f"{near} = getelementptr i8, ptr {pointer}, i64 -{_NEARER_BYTES}"
                return f"  {address}\n{text.replace(pointer + ',', near + ',', 1)}"
        return text

    return _CALL.sub(nearer, llir)

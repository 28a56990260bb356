"""A kernel's module for a program that holds several kernels: no symbol stands twice."""

from __future__ import annotations

import re

from triton_rvv.lowering import ENTRY

__all__ = ["embedded"]

# Each kernel has these, and only a launcher, which runs one kernel, reads them.
_FACTS = re.compile(rf"^@(?:{ENTRY}_name|triton_rvv_vlen_bits) = .*\n", re.MULTILINE)


def embedded(llir: str, entry: str) -> str:
    """The module with its entry called `entry`, which only what it is linked with can see.

    Args:
        llir: of a lowered kernel for RISC-V.
        entry: a C identifier.
    """
    return _FACTS.sub("", llir).replace(f"define void @{ENTRY}(", f"define hidden void @{entry}(")

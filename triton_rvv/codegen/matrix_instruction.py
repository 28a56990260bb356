"""SpacemiT's matrix instruction, which LLVM's assembler knows and its code generator does not.

`smt.vmadot vd, vs1, vs2` (XSMTVDot 1.0, on the X60) adds the product of 4 x 8 and 8 x 4 signed
8-bit integers to 4 x 4 integers of 32 bits in two registers. SiFive's `sf.vqmacc.4x8x4`
(XSfvqmaccqoq) has the same shape and operands in the same order. So LLVM generates code for
SiFive's, its name is replaced in the assembly, and an assembler makes the object.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from triton_rvv.codegen.link import LinkError
from triton_rvv.codegen.zig import ZigError, ZigStopped, run_zig_cc

__all__ = ["assemble_object", "spacemit_assembly"]

_ASSEMBLER_LIMIT_S = 60.0


def spacemit_assembly(text: str) -> str:
    """Assembly with SpacemiT's instruction in place of SiFive's, and its extension too."""
    return text.replace("sf.vqmacc.4x8x4", "smt.vmadot").replace("_xsfvqmaccqoq1p0", "")


def assemble_object(text: str) -> bytes:
    """An ELF relocatable object of assembly that names the extensions it needs.

    Raises:
        LinkError: where the assembler does not accept it, or cannot write.
    """
    with tempfile.TemporaryDirectory(prefix="triton-rvv-assemble-") as folder:
        source, compiled = Path(folder) / "kernel.s", Path(folder) / "kernel.o"
        source.write_text(text, encoding="utf-8")
        try:
            command = ["-c", str(source), "-o", str(compiled)]
            run_zig_cc(command, timeout_s=_ASSEMBLER_LIMIT_S)
        except ZigStopped:
            raise
        except ZigError as error:
            raise LinkError(str(error)) from error
        return compiled.read_bytes()

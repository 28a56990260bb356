"""Assembly to an object, for code that holds instructions that LLVM's code generator does not know.

The LLVM in this process has no assembler for RISC-V, so zig's does it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from triton_rvv.codegen.link import LinkError
from triton_rvv.codegen.zig import ZigError, ZigStopped, run_zig_cc

__all__ = ["assemble_object"]

_ASSEMBLER_LIMIT_S = 60.0


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

"""The assembly of a build, made from its IR on demand."""

from __future__ import annotations

from pathlib import Path

from foundation.scratch import UNFINISHED, scratch_folder

__all__ = ["assembly_file"]


def assembly_file(elf_path: Path) -> Path | None:
    """The `.s` file beside an ELF, written at the first request; None without the IR.

    None too for a GPU's machine code, whose IR is not for processors.

    It takes as long to make as the object file did, so builds leave it out.
    """
    path, llir_path = elf_path.with_suffix(".s"), elf_path.with_suffix(".llir")
    if path.is_file():
        return path
    if elf_path.suffix != ".elf" or not llir_path.is_file():
        return None
    # LLVM is slow to import, and reading a study does not need it.
    from triton_rvv.codegen.llvm import assemble

    text = assemble(llir_path.read_text())
    with scratch_folder(UNFINISHED, path.parent) as folder:
        written = folder / path.name
        written.write_text(text)
        written.replace(path)
    return path

"""A user's own program: an executable for 64-bit RISC-V, and what it needs to start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from foundation.errors import UserError

__all__ = ["Program", "read_program"]

_RISCV = "EM_RISCV"
_EXECUTABLE = ("ET_EXEC", "ET_DYN")  # the second is position-independent


@dataclass(frozen=True)
class Program:
    """An executable with its arguments.

    Args:
        path: the ELF, as the user gave it.
        arguments: what it is called with.
        interpreter: the dynamic linker that starts it, an absolute path; None if it is static.
    """

    path: Path
    arguments: tuple[str, ...]
    interpreter: str | None


def read_program(path: Path, arguments: Sequence[str]) -> Program:
    """The program at `path`.

    Raises:
        UserError: if there is none, or it is not an executable for 64-bit RISC-V.
    """
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            machine, kind = elf["e_machine"], elf["e_type"]
            if elf.elfclass != 64 or machine != _RISCV or not elf.little_endian:
                name = str(machine).removeprefix("EM_").lower()
                raise UserError(
                    f"{path} is for {elf.elfclass}-bit {name}: compile it for riscv64, for example "
                    "with riscv64-linux-gnu-gcc"
                )
            if kind not in _EXECUTABLE or elf.num_segments() == 0:
                raise UserError(f"{path} is not an executable: link it into one")
            return Program(path, tuple(arguments), _interpreter(elf))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"there is no program {path}: give the path of an ELF") from error
    except IsADirectoryError as error:
        raise UserError(f"{path} is a folder: give the path of an ELF") from error
    except ELFError as error:
        raise UserError(f"{path} is not an executable for riscv64: {error}") from error


def _interpreter(elf: ELFFile) -> str | None:
    for segment in elf.iter_segments("PT_INTERP"):
        return str(segment.get_interp_name())
    return None

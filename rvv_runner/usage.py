"""How a board is used: on how many of its cores kernels run, and how they are timed.

A device's name says both, as in "desk@cold@4cores", so that whatever goes by the name keeps times
apart that cannot be compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from foundation.errors import UserError
from rvv_runner.board import BoardInfo
from rvv_runner.cold import COLD_SUFFIX, CacheTiming, split_timing

__all__ = [
    "ONE_CORE",
    "Usage",
    "cores_in",
    "cores_text",
    "named_cores",
    "split_usage",
    "without_cores",
]

_CORES = re.compile(r"@([1-9]\d*)cores$")


@dataclass(frozen=True)
class Usage:
    """How a board is used.

    Args:
        cores: that run a kernel at once.
        timing: with what the run before left in the caches, or with caches that hold nothing.
    """

    cores: int = 1
    timing: CacheTiming = "warm"

    @property
    def suffix(self) -> str:
        """What a device's name says of it; "" for one core with warm caches."""
        cores = f"@{self.cores}cores" if self.cores > 1 else ""
        return (COLD_SUFFIX if self.timing == "cold" else "") + cores

    def of(self, info: BoardInfo) -> BoardInfo:
        """The board as one that is used so: times of two ways are never compared."""
        kind = info.kind + ("-cold" if self.timing == "cold" else "")
        if self.cores > 1:
            kind += f"@{self.cores}cores"
        return replace(info, name=f"{info.name}{self.suffix}", kind=kind, used_cores=self.cores)

    @property
    def launcher_options(self) -> tuple[str, ...]:
        """What the launcher is told of the cores."""
        return ("--cores", str(self.cores)) if self.cores > 1 else ()

    def check(self, name: str, cores: int) -> None:
        """Check that a board can be used so.

        Args:
            name: of the board.
            cores: that it has.

        Raises:
            UserError: if it has fewer cores, or its caches would have to be flushed for several.
        """
        if self.cores > 1 and self.timing == "cold":
            raise UserError(
                f"--timing cold is for one core: leave out --cores {self.cores}, or --timing"
            )
        if self.cores > cores:
            raise UserError(
                f"{name} has {cores_text(cores)} and --cores asks for {self.cores}: give at most "
                f"--cores {cores}"
            )


ONE_CORE = Usage()


def split_usage(name: str) -> tuple[str, Usage]:
    """A device's name without how it is used, and how."""
    cores = cores_in(name)
    board, timing = split_timing(without_cores(name))
    return board, Usage(cores, timing)


def cores_in(name: str) -> int:
    """The cores in a device's name or kind; one if it says nothing."""
    return named_cores(name) or 1


def named_cores(name: str) -> int | None:
    """The cores in a device's name or kind; None if it says nothing."""
    found = _CORES.search(name)
    return int(found[1]) if found else None


def without_cores(name: str) -> str:
    """A device's name or kind without its number of cores."""
    return _CORES.sub("", name)


def cores_text(count: int) -> str:
    """The number of cores in words: "one core", "4 cores"."""
    return "one core" if count == 1 else f"{count} cores"

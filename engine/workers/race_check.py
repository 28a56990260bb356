"""Whether a configuration is right only by the order in which its programs happen to run.

The kernel is compiled once more, for this machine, so that a program around it sees every access to
memory (`launchers/race_check.c`). What it finds holds for every board.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from foundation.scratch import UNFINISHED, scratch_folder
from launchers.objects import race_check_object
from launchers.output import parse_launcher_output
from rvv_runner.process import run_bounded
from rvv_runner.verdict import OUTPUT_LIMIT_BYTES
from triton_rvv.codegen.link import LinkError, link_elf
from triton_rvv.codegen.zig import ZigError
from triton_rvv.errors import CompileError
from triton_rvv.pipeline import CompiledKernel

__all__ = ["has_atomics", "may_race", "race_found"]

# Makes the kernel with its accesses watched.
Compiled = Callable[[], CompiledKernel]

# The program ends itself after about a second for each of six runs, but where a kernel's own loop
# has no end.
_LIMIT_S = 10.0
_WRONG = 1
_INSTRUCTION = "tt.elementwise_inline_asm"  # it may be atomic
_ATOMICS = ("tt.atomic_", _INSTRUCTION)
_RACE = re.compile(
    r"^race argument=(?P<argument>.*) index=(?P<index>\d+) reader=(?P<reader>\d+) "
    r"writer=(?P<writer>\d+)$",
    re.MULTILINE,
)


def has_atomics(ttir: str) -> bool:
    """Whether a program can wait for what another does."""
    return any(name in ttir for name in _ATOMICS)


def may_race(compiled: CompiledKernel) -> bool:
    """Whether a program may read what another writes, or no other order tells who wrote last.

    The launcher's other orders tell it of programs that only write to the same place; with atomic
    operations it leaves none of them out, so their stores are watched.
    """
    reached = compiled.reached
    if reached is None or _INSTRUCTION in compiled.ttir or reached.shared:
        return True
    return has_atomics(compiled.ttir) and not reached.stored.issubset(reached.only_updated)


def race_found(
    folder: Path,
    data_path: Path,
    grid: tuple[int, int, int],
    compiled: Compiled,
) -> str:
    """One sentence on the outputs that depend on when programs run; "" where none is known to.

    Args:
        folder: of the build, where the answer is kept for the same data.
        data_path: the kernel's arguments and what is expected.
        grid: programs along x, y and z.
        compiled: makes the kernel with its accesses watched.
    """
    kept = folder / f"races-{data_path.stem}.txt"
    if kept.exists():
        return kept.read_text(encoding="utf-8")
    with scratch_folder(UNFINISHED, folder) as scratch:
        found = _looked_for(scratch, data_path, grid, compiled)
        written = scratch / kept.name
        written.write_text(found, encoding="utf-8")
        written.replace(kept)
    return found


def _looked_for(
    scratch: Path,
    data_path: Path,
    grid: tuple[int, int, int],
    compiled: Compiled,
) -> str:
    try:
        (scratch / "kernel.o").write_bytes(compiled().object)
        program = scratch / "races.elf"
        link_elf([scratch / "kernel.o", race_check_object()], program, "host")
    except (CompileError, LinkError, ZigError):
        return ""  # this machine's processor lacks what the board's has
    ending = run_bounded(
        [str(program), str(data_path), *map(str, grid)],
        folder=scratch,
        timeout_s=_LIMIT_S,
        output_limit_bytes=OUTPUT_LIMIT_BYTES,
    )
    mismatch = parse_launcher_output(ending.stdout).mismatch
    if ending.returncode != _WRONG or not mismatch:
        return ""
    race = _RACE.search(ending.stderr)
    return f"{mismatch}: {_sentence(race)}" if race else mismatch


def _sentence(race: re.Match[str]) -> str:
    return (
        f"program {race['reader']} reads {race['argument']}[{race['index']}], which program "
        f"{race['writer']} writes, and no atomic operation orders the two"
    )

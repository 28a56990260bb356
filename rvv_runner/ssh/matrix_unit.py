"""Boards some of whose cores have a matrix unit: which of them kernels run on."""

from __future__ import annotations

import shlex
import signal
from dataclasses import replace
from pathlib import Path

from foundation.scratch import UNFINISHED, scratch_folder
from foundation.user_folders import cache_folder
from rvv_runner.board_file import BoardFile
from rvv_runner.ssh.cache import CANNOT_RUN, NO_PROGRAM_RUNS, RemoteCache, RemotePlace
from rvv_runner.ssh.facts import processor_numbers
from rvv_runner.ssh.session import Session
from triton_rvv.codegen.zig import run_zig_cc
from triton_rvv.targets.target import RVVTarget

__all__ = ["check_matrix_unit", "with_matrix_unit"]

_BUILD_TIMEOUT_S = 120.0
_ILLEGAL_INSTRUCTION = 128 + signal.SIGILL  # as a shell reports it

# A program that ends with status 0 where the processor knows "smt.vmadot v8, v0, v2".
_PROBE = """
.option arch, +v
.globl _start
_start:
    vsetvli t0, zero, e8, m1, ta, ma
    .4byte 0xe220342b
    li a0, 0
    li a7, 93
    ecall
"""


def with_matrix_unit(board_file: BoardFile, cores: int) -> BoardFile:
    """The board on those of its processors that have a matrix unit.

    It is the board as it is where too few have one, where its file names others, and behind a
    wrapper such as an emulator.

    Args:
        board_file: the board.
        cores: how many run a kernel at once.
    """
    ssh = board_file.ssh
    if not board_file.matrix_cpu or not board_file.matrix_processors or board_file.wrapper:
        return board_file
    found = processor_numbers(board_file.matrix_processors)
    if board_file.processors is not None:
        own = processor_numbers(board_file.processors)
        found = tuple(number for number in found if number in own)
    if ssh is not None and ssh.core is not None:
        found = tuple(number for number in found if number <= ssh.core) if ssh.core in found else ()
    if len(found) < cores:
        return board_file
    return replace(
        board_file,
        cpu=board_file.matrix_cpu,
        kind=f"{board_file.kind}-matrix",
        processors=",".join(map(str, found)),
    )


def check_matrix_unit(
    session: Session,
    cache: RemoteCache,
    place: RemotePlace,
    board_file: BoardFile,
    processors: tuple[int, ...],
) -> None:
    """Run an instruction of the matrix unit, if code for the board uses one.

    Raises:
        ValueError: if a processor does not know it, or runs no program.
        CannotShip, LinkLost: if the program cannot be sent.
        ZigError: if it cannot be built.
    """
    if RVVTarget.named(board_file.cpu, board_file.vlen_bits).matrix_unit is None:
        return
    (digest,) = cache.ship(session, _probe())
    program = (*board_file.wrapper, f"{place.files}/{digest}")
    for processor in processors or (None,):
        bound = () if processor is None else ("taskset", "-c", str(processor))
        tried = session.run(shlex.join((*bound, *program)))
        where = "it" if processor is None else f"its processor {processor}"
        if tried.status == _ILLEGAL_INSTRUCTION:
            raise ValueError(
                f"{where} does not know the matrix instruction of {board_file.cpu}: write "
                'matrix_processors = "" into its board file, and cpu of a core without the unit'
            )
        if tried.status == CANNOT_RUN and "Permission denied" in tried.output:
            raise ValueError(NO_PROGRAM_RUNS)
        if tried.status != 0:
            raise ValueError(f"{where} did not run a small program: {tried.last_line}")


def _probe() -> Path:
    folder = cache_folder() / "probes"
    built = folder / "vmadot.elf"
    if not built.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with scratch_folder(UNFINISHED, folder) as temporary:
            (temporary / "probe.S").write_text(_PROBE, encoding="utf-8")
            flags = ["-static", "-nostdlib", "probe.S", "-o", "probe.elf"]
            run_zig_cc(flags, timeout_s=_BUILD_TIMEOUT_S, folder=temporary)
            (temporary / "probe.elf").replace(built)
    return built

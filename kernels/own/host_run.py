"""Runs a configuration of a user's kernel on this machine, with other inputs each time."""

from __future__ import annotations

import contextlib
import math
import signal
from collections.abc import Mapping
from pathlib import Path

from launchers.arguments import Argument
from launchers.data_file import write_data_file
from launchers.descriptors import taken_apart
from launchers.objects import launcher_object
from launchers.output import parse_launcher_output
from rvv_runner.process import run_bounded
from rvv_runner.verdict import OUTPUT_LIMIT_BYTES
from triton_rvv.codegen.link import LinkError, link_elf, program_around
from triton_rvv.codegen.zig import ZigError
from triton_rvv.errors import CompileError
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.host_target import host_target

__all__ = ["HostRun", "get_ready"]

# A run that takes longer ends all of them.
_LIMIT_S = 20.0
# A run that needs so many times the processor time of the first, and a second at least, does not
# end: the numbers are others and the sizes are the same.
_ENDLESS = 10


def get_ready() -> None:
    """Link what runs have in common, or each fork of this process would."""
    with contextlib.suppress(LinkError, ZigError, OSError):  # a run says so, too
        program_around([launcher_object(host_target())], "host")


class HostRun:
    """A configuration, compiled for this machine when it is first run, on inputs on which it ends.

    Args:
        folder: for its files.
        function: the kernel.
        constants: as it is compiled.
        blocks: of the arguments that are tensor descriptors.
        grid: programs along x, y and z.

    Attributes:
        gave_up: whether a run took too long, or none is possible here.
        mismatch: the first element that the last run got wrong; "" if none, or if it stopped.
        out_of_bounds: an access of the last run outside of its array; "" if there was none.
        is_endless: whether the last run was ended, since it took far longer than the first.
        cpu_s: processor time of all runs.
    """

    def __init__(
        self,
        folder: Path,
        function: object,
        constants: Mapping[str, object],
        blocks: Mapping[str, tuple[int, ...]],
        grid: tuple[int, int, int],
    ) -> None:
        self._folder = folder
        self._function = function
        self._constants = constants
        self._blocks = blocks
        self._grid = grid
        self._program: Path | None = None
        self.gave_up = False
        self.mismatch = self.out_of_bounds = ""
        self.is_endless = False
        self.cpu_s = 0.0
        self._cpu_limit_s: int | None = None

    def is_right(self, arguments: tuple[Argument, ...]) -> bool:
        """Whether it gives what is expected."""
        try:
            self.mismatch = self.out_of_bounds = ""
            program = self._program or self._built(arguments)
        except (CompileError, LinkError, ZigError):  # the processor lacks what the board's has
            self.gave_up = True
            return False
        self._program = program
        data_path = self._folder / "arguments.data"
        write_data_file(data_path, taken_apart(arguments))
        options = ("--grid", ",".join(map(str, self._grid)), "--repeats", "0")
        ending = run_bounded(
            [str(program), str(data_path), *options],
            folder=self._folder,
            timeout_s=_LIMIT_S,
            output_limit_bytes=OUTPUT_LIMIT_BYTES,
            cpu_limit_s=self._cpu_limit_s,
        )
        used_s = ending.cpu_s or 0.0
        self.cpu_s += used_s
        self.is_endless = ending.returncode == -signal.SIGXCPU
        self._cpu_limit_s = self._cpu_limit_s or max(1, math.ceil(_ENDLESS * used_s))
        self.gave_up = ending.timed_out
        report = parse_launcher_output(ending.stdout)
        self.mismatch, self.out_of_bounds = report.mismatch, report.out_of_bounds
        return ending.returncode == 0 and report.output_ok is True

    def _built(self, arguments: tuple[Argument, ...]) -> Path:
        target = host_target()
        compiled = compile_kernel(
            self._function,
            {argument.name: argument.signature_type(self._blocks) for argument in arguments},
            self._constants,
            target,
            known={a.name: a.value for a in taken_apart(arguments) if isinstance(a.value, int)},
            disjoint_arguments=True,
            grid=self._grid,
            for_launcher=True,
        )
        made, program = self._folder / "kernel.o", self._folder / "kernel.elf"
        made.write_bytes(compiled.object)
        link_elf([made, launcher_object(target)], program, "host")
        return program

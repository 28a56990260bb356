"""Random kernels as hypothesis draws them, and the comparison of what they did with NumPy."""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from fuzz_effects import draw_statement, store
from fuzz_grid import grids, numberings
from fuzz_lines import line_of_program
from fuzz_numbers import wrong
from fuzz_program import Program, UnknownControl
from fuzz_worker import Failure, Worker
from fuzz_writer import Writer
from hypothesis import assume
from hypothesis import strategies as st

from triton_rvv.pass_printer import skipped_names
from triton_rvv.wrong_after import wrong_after

__all__ = ["WrongError", "after_which_pass", "check", "programs"]


@st.composite
def programs(draw, targets, draw_first=draw_statement):
    """A kernel for one of some targets; `draw_first` draws its first statement."""
    grid = draw(grids())
    writer = Writer(draw, one_program=grid == (1, 1, 1))
    if sum(size > 1 for size in grid) > 1 and writer.chance(60):
        line_of_program(writer)
    draw_first(writer)
    for _ in range(draw(st.integers(0, 7))):
        draw_statement(writer)
    for var in writer.scopes[0]:
        if var.name not in writer.used:
            store(writer, var)
    # Descriptors want addresses that are multiples of 16 bytes.
    parts = {buffer: -(-extent // 16) * 16 for buffer, extent in writer.extents.items()}
    return Program(
        tuple(writer.arrays),
        tuple(writer.scalars),
        parts,
        grid,
        tuple(writer.blocks[0]),
        draw(st.sampled_from(targets)),
        draw(st.booleans()),
        tuple(draw(st.just([]) | st.lists(st.sampled_from(skipped_names()), unique=True))),
        draw(numberings(grid)),
    )


class WrongError(AssertionError):
    """A kernel that does something else than NumPy."""

    def __init__(self, message: str, program: Program) -> None:
        super().__init__(message)
        self.program = program


def check(program: Program, worker: Worker) -> None:
    """Run a kernel and compare all memory.

    Raises:
        WrongError: where it does something else than NumPy, with a program that shows it.
    """
    try:
        expected = program.expected()
    except UnknownControl:
        assume(False)
    buffers = {number: block.to_torch() for number, block in program.memory().items()}
    arguments = [
        *((array.buffer, array.start) for array in program.arrays),
        *(value for _, value in program.scalars),
        *program.parts.values(),
    ]
    kernel = (program.target, program.text(), buffers, arguments, program.grid)
    try:
        after = worker(*kernel, program.is_study, program.skipped)
    except Failure as failure:
        raise WrongError(f"{failure}\n{shown(program)}", program) from None
    for number, block in expected.items():
        places = wrong(block, after[number]).nonzero()[0]
        if len(places):
            first = int(places[0])
            raise WrongError(
                f"on {program.target}, {len(places)} of {block.data.size} elements of buffer "
                f"{number} are wrong; element {first} is {after[number][first].item()} and not "
                f"{block.data[first]} (slack {block.slack[first]})\n{shown(program)}",
                program,
            )


def after_which_pass(program: Program, worker: Worker) -> str:
    """Which pass of the compiler makes a kernel wrong, as a sentence."""

    def is_wrong(skipped: Collection[str]) -> bool:
        try:
            check(replace(program, skipped=(*program.skipped, *skipped)), worker)
        except WrongError:
            return True
        return False

    return wrong_after(is_wrong)


def shown(program: Program) -> str:
    """The kernel, its call, and where a program lies that makes the arrays and runs it."""
    path = Path(tempfile.gettempdir(), "triton-rvv-fuzz", f"{abs(hash(program.text()))}.py")
    path.parent.mkdir(exist_ok=True)
    call = _call(program)
    if program.skipped:
        call = f"with without_passes({program.skipped}):\n{textwrap.indent(call, '    ')}"
    text = f"{program.text()}\n\n{_arrays(program)}\n{call}\n{_prints(program)}\n"
    path.write_text(text, encoding="utf-8")
    return (
        f"{program.text()}\n\n{call}\n\n"
        f"With its arrays it is in {path}, for PYTHONPATH={Path(__file__).parent}."
    )


def _call(program: Program) -> str:
    arguments = [f"buffer{array.buffer}[{array.start}:]" for array in program.arrays]
    arguments += [repr(value) for _, value in program.scalars]
    arguments += [repr(part) for part in program.parts.values()]
    call = f"kernel[{program.grid}]({', '.join(arguments)})"
    if not program.is_study:
        return call
    return f"with for_one_call([{', '.join(arguments)}], {program.grid}):\n    {call}"


def _arrays(program: Program) -> str:
    lines = [
        "import torch",
        "from fuzz_passes import without_passes",
        "from fuzz_study import for_one_call",
    ]
    lines += ["", "import triton_rvv", ""]
    lines.append('inf, nan = float("inf"), float("nan")')
    lines.append(f'triton_rvv.activate("{program.target}")')
    for number, block in program.memory().items():
        values = ", ".join(map(repr, block.data.tolist()))
        lines.append(f"buffer{number} = torch.tensor([{values}], dtype={block.kind.torch})")
    return "\n".join(lines)


def _prints(program: Program) -> str:
    return "\n".join(f'print("buffer{number}", buffer{number})' for number in program.parts)

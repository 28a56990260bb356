"""Random kernels as hypothesis draws them, and the comparison of what they did with NumPy."""

from __future__ import annotations

from fuzz_effects import draw_statement, store
from fuzz_numbers import wrong
from fuzz_program import Program, UnknownControl
from fuzz_worker import Failure, Worker
from fuzz_writer import Writer
from hypothesis import assume
from hypothesis import strategies as st

__all__ = ["check", "programs"]


@st.composite
def programs(draw, targets):
    """A kernel for one of some targets."""
    grid = draw(st.sampled_from([(1, 1, 1), (1, 1, 1), (3, 1, 1), (2, 2, 2)]))
    writer = Writer(draw, one_program=grid == (1, 1, 1))
    for _ in range(draw(st.integers(1, 8))):
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
    )


def check(program: Program, worker: Worker) -> None:
    """Run a kernel and compare all memory.

    Raises:
        AssertionError: where it does something else than NumPy, with a program that shows it.
    """
    try:
        expected = program.expected()
    except UnknownControl:
        assume(False)
    buffers = {number: block.to_torch() for number, block in program.memory().items()}
    arguments = [(array.buffer, array.start) for array in program.arrays]
    arguments += [value for _, value in program.scalars]
    arguments += list(program.parts.values())
    try:
        after = worker(program.target, program.text(), buffers, arguments, program.grid)
    except Failure as failure:
        raise AssertionError(f"{failure}\n{script(program)}") from None
    for number, block in expected.items():
        places = wrong(block, after[number]).nonzero()[0]
        if len(places):
            first = int(places[0])
            raise AssertionError(
                f"on {program.target}, {len(places)} of {block.data.size} elements of buffer "
                f"{number} are wrong; element {first} is {after[number][first].item()} and not "
                f"{block.data[first]} (slack {block.slack[first]})\n{script(program)}"
            )


def script(program: Program) -> str:
    """A program of its own that runs the kernel and prints the buffers."""
    lines = [program.text(), "", "import torch", "", "import triton_rvv", ""]
    lines.append(f'triton_rvv.activate("{program.target}")')
    for number, block in program.memory().items():
        dtype = str(block.kind.torch)
        values = ", ".join(_literal(x) for x in block.data.tolist())
        lines.append(f"buffer{number} = torch.tensor([{values}], dtype={dtype})")
    arguments = [f"buffer{array.buffer}[{array.start}:]" for array in program.arrays]
    arguments += [repr(value) for _, value in program.scalars]
    arguments += [repr(part) for part in program.parts.values()]
    lines.append(f"kernel[{program.grid}]({', '.join(arguments)})")
    lines += [f'print("buffer{number}", buffer{number})' for number in program.parts]
    return "\n".join(lines)


def _literal(value) -> str:
    return f'float("{value}")' if value != value or value in (float("inf"), float("-inf")) else repr(value)

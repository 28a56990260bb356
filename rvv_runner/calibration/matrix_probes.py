"""Probes of a matrix unit: how often an instruction begins, how long it takes, what goes beside it.

The instruction is SpacemiT's `vmadot` for signed bytes, at vectors of 256 bits: 4 x 8 times 8 x 4.
Of a core with that unit, published are the first of these and the speed of whole loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rvv_runner.calibration.micro_kernel import COPIES, MicroKernel, input_bytes, unrolled
from rvv_runner.calibration.probe import Probe

__all__ = ["INSTRUCTION", "matrix_probes"]

INSTRUCTION = "vmadot"  # how the names of these probes begin

_SIDE, _DEPTH = 4, 8
_OPERAND_BYTES = _SIDE * _DEPTH
_SUMS_AT, _SUMS = 8, 8  # the first register of the sums, and how many pairs there are
_SETUP = (
    "vsetvli t0, x0, e8, m8, ta, ma\nvmv.v.i v8, 0\nvmv.v.i v16, 0\nvmv.v.i v24, 0\n"
    "vsetvli t0, x0, e8, m1, ta, ma\nvle8.v v0, (a5)\n"
    f"addi t1, a5, {_OPERAND_BYTES}\nvle8.v v1, (t1)\nmv t6, a0"
)
# Each program's sums, behind those of the one before.
_FINISH = f"slli t6, t6, 6\nadd t6, t6, a6\nvs2r.v v{_SUMS_AT}, (t6)"


def matrix_probes(cores: int) -> tuple[Probe, ...]:
    """The probes that run on so many cores at once, whose units may be fewer."""
    products = [_vmadot(_SUMS_AT + 2 * n) for n in range(_SUMS)]
    at_once = _probe("one after another", products, cores)
    if cores > 1:
        return (at_once,)
    pairs = [f"{product}\nvadd.vv v24, v25, v26" for product in products]
    loads = [f"{line}\nvl2re8.v v4, (a5)" for line in products]
    return (
        at_once,
        _probe("each on the sums before", [_vmadot(_SUMS_AT)], cores),
        _probe("a sum of bytes behind each", pairs, cores),
        _probe("a load of two registers behind each", loads, cores),
    )


def _vmadot(sums: int) -> str:
    """v0 times v1, added to two registers. (SpacemiT, "AI Matrix Extension", chapter 8.)"""
    return f".4byte {0xE200302B | sums << 7 | 0 << 15 | 1 << 20:#x}"


def _probe(name: str, lines: Sequence[str], cores: int) -> Probe:
    added = COPIES // len(lines)  # to the sums that are stored, in one time of the loop

    def expected(vlen_bits: int, parameters: Mapping[str, int]) -> bytes:
        a, b = input_bytes()[: 2 * _OPERAND_BYTES].view(np.int8).reshape(2, _SIDE, _DEPTH)
        product = a.astype(np.int64) @ b.T.astype(np.int64)
        sums = (added * parameters["iterations"] * product).astype(np.uint32)
        return sums.tobytes() * cores

    where = f", on {cores} cores" if cores > 1 else ""
    body = unrolled(lines)
    kernel = MicroKernel(f"{INSTRUCTION}, {name}{where}", _SETUP, body, _FINISH, expected)
    return Probe(kernel, cores, INSTRUCTION, in_registers=True)

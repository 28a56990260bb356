"""What a kernel in C could do and one in Triton cannot: its object has nothing to do it with.

With memory of its own, a kernel could keep outputs from one timed run to the next; if it could call
the system, it could do anything (docs/reference/launcher.md, "What no check finds").
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import pytest
import triton
import triton.language as tl

from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.host_target import host_target
from triton_rvv.targets.target import RVVTarget, Target

# Of the ELF-64 specification.
SYMBOLS, WRITABLE, UNDEFINED = 2, 1, 0
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")

# The launcher's (launchers/kernel_abi.h).
OFFERED = {
    *("triton_rvv_assertion_failed", "triton_rvv_scratch"),
    *("triton_rvv_clock", "triton_rvv_core"),
}


class Section(NamedTuple):
    """The fields of a section's header that are read here."""

    kind: int
    flags: int
    offset: int
    size_bytes: int
    link: int


@triton.jit
def everything_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    """What takes memory, tables or the launcher: a product, a sort, an assertion."""
    rows = tl.arange(0, 32)
    at = rows[:, None] * 32 + rows[None, :]
    x = tl.load(x_ptr + at)
    tl.device_assert(tl.max(x) < 1e9, "too large")
    tl.store(y_ptr + at, tl.sin(tl.dot(x, x)) + tl.log(tl.cumsum(x, 0)))
    large = tl.arange(0, BLOCK)
    z = tl.load(z_ptr + large, mask=large < n)
    tl.store(z_ptr + large, tl.sort(z), mask=large < n)


def sections(compiled: bytes) -> list[Section]:
    (offset,) = struct.unpack_from("<Q", compiled, 40)
    size_bytes, count = struct.unpack_from("<HH", compiled, 58)
    headers = (SECTION.unpack_from(compiled, offset + n * size_bytes) for n in range(count))
    return [Section(*(header[field] for field in (1, 2, 4, 5, 6))) for header in headers]


def undefined_symbols(compiled: bytes) -> Iterator[str]:
    found = sections(compiled)
    (table,) = (section for section in found if section.kind == SYMBOLS)
    names = found[table.link].offset
    for place in range(SYMBOL.size, table.size_bytes, SYMBOL.size):
        name, _, _, section, _, _ = SYMBOL.unpack_from(compiled, table.offset + place)
        if section == UNDEFINED:
            start = names + name
            yield compiled[start : compiled.index(b"\0", start)].decode()


@pytest.mark.parametrize("target", [RVVTarget(), host_target()], ids=["rvv", "host"])
def test_a_kernel_has_no_memory_of_its_own_and_calls_nobody_but_the_launcher(
    target: Target,
) -> None:
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "z_ptr": "*fp32", "n": "i32"}
    compiled = compile_kernel(everything_kernel, types, {"BLOCK": 128}, target).object
    writable = [section for section in sections(compiled) if section.flags & WRITABLE]
    assert [section for section in writable if section.size_bytes] == []
    assert set(undefined_symbols(compiled)) <= OFFERED


@triton.jit
def clock_kernel(x_ptr):
    tl.store(x_ptr, tl.extra.cuda.globaltimer() + tl.extra.cuda.smid())


@pytest.mark.parametrize("target", [RVVTarget(), host_target()], ids=["rvv", "host"])
def test_a_kernel_that_is_measured_asks_the_launcher_for_the_time(target: Target) -> None:
    kernel, types = clock_kernel, {"x_ptr": "*i64"}
    measured = compile_kernel(kernel, types, {}, target, for_launcher=True).object
    assert set(undefined_symbols(measured)) == {"triton_rvv_clock", "triton_rvv_core"}
    run_by_programs = compile_kernel(kernel, types, {}, target).object
    assert set(undefined_symbols(run_by_programs)) == {"clock_gettime", "sched_getcpu"}

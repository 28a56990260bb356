"""Micro-kernels of scalar instructions, and of the ways between scalars and vectors."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from rvv_runner.calibration.micro_kernel import (
    COPIES,
    Expected,
    MicroKernel,
    input_bytes,
    unrolled,
)

__all__ = ["link_kernels", "scalar_kernels"]

# t0 is 1, t2 is 3, t6 is 99999; ft0 is 1.0, ft6 is 3.0. {f} is the format, s or d.
_SETUP = """li t0, 1
li t2, 3
li t6, 99999
li t1, {start}
fcvt.{f}.l ft0, t0
fcvt.{f}.l ft6, t2
fcvt.{f}.l ft2, t1
sd x0, 0(a6)"""
_RESULTS = ("t1", "t3", "t4", "t5")
_FLOAT_RESULTS = ("ft2", "ft3", "ft4", "ft5")

# Throughput: {r} is another register each time. With what each holds in the end.
_APART: Mapping[str, tuple[str, int]] = {
    "alu": ("addi {r},t0,4", 5),
    "alu_slow": ("sh1add {r},t0,t2", 5),
    "multiply": ("mul {r},t0,t2", 3),
    "divide_word": ("divw {r},t6,t2", 33333),
    "divide": ("div {r},t6,t2", 33333),
    "load": ("lbu {r},0(a5)", int(input_bytes()[0])),
    "atomic": ("amoadd.w {r},x0,(a6)", 0),
    "fp_compare": ("feq.s {r},ft0,ft0", 1),
    "fp_convert": ("fcvt.w.s {r},ft6", 3),
    "fp_move": ("fmv.x.w {r},ft0", 0x3F800000),
}
_FLOATS_APART: Mapping[str, tuple[str, int]] = {
    "fp_add": ("fadd.s {r},ft0,ft6", 4),
    "fp_fma": ("fmadd.s {r},ft0,ft6,ft0", 4),
    "fp_divide": ("fdiv.s {r},ft6,ft0", 3),
    "fp_add_double": ("fadd.d {r},ft0,ft6", 4),
    "fp_fma_double": ("fmadd.d {r},ft0,ft6,ft0", 4),
    "fp_divide_double": ("fdiv.d {r},ft6,ft0", 3),
}

# Latency: each needs what the one before it gave. With what t1, or ft2, holds at the start, and by
# how much each adds to it. A quotient alternates between two values.
_CHAINS: Mapping[str, tuple[str, int, int]] = {
    "alu": ("addi t1,t1,1", 0, 1),
    "alu_slow": ("sh1add t1,x0,t1", 3, 0),
    "multiply": ("mul t1,t1,t0", 3, 0),
    "divide_word": ("divw t1,t6,t1", 3, 0),
    "divide": ("div t1,t6,t1", 3, 0),
    "vset": ("vsetvli t1,t1,e8,m1,ta,ma", 3, 0),
    "fp_convert": ("fcvt.s.w ft2,t1\nfcvt.w.s t1,ft2", 3, 0),
    "fp_move": ("fmv.w.x ft2,t1\nfmv.x.w t1,ft2", 3, 0),
    "fp_compare": ("fmv.w.x ft2,t1\nfeq.s t1,ft2,ft0", 0, 0),
}
_FLOAT_CHAINS: Mapping[str, tuple[str, int, int]] = {
    "fp_add": ("fadd.s ft2,ft2,ft0", 0, 1),
    "fp_fma": ("fmadd.s ft2,ft0,ft0,ft2", 0, 1),
    "fp_divide": ("fdiv.s ft2,ft6,ft2", 2, 0),
    "fp_add_double": ("fadd.d ft2,ft2,ft0", 0, 1),
    "fp_fma_double": ("fmadd.d ft2,ft0,ft0,ft2", 0, 1),
    "fp_divide_double": ("fdiv.d ft2,ft6,ft2", 2, 0),
}

# Chains that cross between scalars, vectors and memory, by what they cross. t3 is the output.
_LINKS: Mapping[str, str] = {
    "vector to integer and back": "vmv.x.s t1,v24\nvmv.s.x v24,t1",
    "vector to float and back": "vfmv.f.s ft2,v24\nvfmv.s.f v24,ft2",
    "count of a mask and back": "vcpop.m t1,v24\nvmv.s.x v24,t1",
    "vector load, to integer and back": "vle64.v v24,(t3)\nvmv.x.s t1,v24\nadd t3,a6,t1",
}
_LINK_SETUP = "\nvsetvli t3, x0, e64, m1, ta, ma\nvmv.v.i v24, 0\nmv t3, a6"


def scalar_kernels() -> Iterator[tuple[str, bool, MicroKernel]]:
    """The kernels with class, and whether each instruction waits for the one before it."""
    for name, (text, result) in _APART.items():
        lines = [text.format(r=r) for r in _RESULTS]
        yield name, False, _kernel(f"throughput {name}", lines, result, last=_RESULTS[-1])
    for name, (text, result) in _FLOATS_APART.items():
        lines = [text.format(r=r) for r in _FLOAT_RESULTS]
        yield name, False, _kernel(f"throughput {name}", lines, result, last=_FLOAT_RESULTS[-1])
    for name, (text, start, each) in _CHAINS.items():
        yield name, True, _kernel(f"latency {name}", [text], start, each)
    for name, (text, start, each) in _FLOAT_CHAINS.items():
        yield name, True, _kernel(f"latency {name}", [text], start, each, last="ft2")
    yield "store", False, _kernel("throughput store", ["sd t1,0(a6)"], 0)
    yield "branch", False, _kernel("throughput branch", ["bne x0,x0,.+4"], 0)
    yield "jump", False, _kernel("throughput jump", ["j .+4"], 0)
    csr = _kernel("throughput csr", ["csrr t1,vlenb"], 0)
    yield "csr", False, dataclasses.replace(csr, expected=_vlenb)
    vset = ["vsetivli x0,1,e8,m1,ta,ma"]
    yield "vset_constant", False, _kernel("throughput vset_constant", vset, 0)


def link_kernels() -> Iterator[tuple[str, MicroKernel]]:
    """The chains that cross, by name."""
    for name, text in _LINKS.items():
        yield name, _kernel(name, [text], 0, more_setup=_LINK_SETUP)


def _kernel(
    name: str,
    lines: Sequence[str],
    result: int,
    each: int = 0,
    last: str = "t1",
    more_setup: str = "",
) -> MicroKernel:
    """A kernel of scalars.

    Args:
        name: of the kernel.
        lines: repeated in turn.
        result: what `last` holds in the end; t1 and ft2 hold it at the start.
        each: what each copy adds to that.
        last: a register.
        more_setup: before the loop, behind the usual.
    """
    form = "d" if ".d" in lines[0] else "s"
    store = f"sd {last}, (a6)"
    if last.startswith("f"):
        store = f"fcvt.l.{form} t1, {last}\nsd t1, (a6)"
    return MicroKernel(
        name=name,
        setup=_SETUP.format(f=form, start=result) + more_setup,
        body=unrolled(lines),
        finish=store,
        expected=_counted(result, each),
    )


def _vlenb(vlen_bits: int, parameters: Mapping[str, int]) -> bytes:
    return (vlen_bits // 8).to_bytes(8, "little")


def _counted(start: int, each: int) -> Expected:
    def expected(vlen_bits: int, parameters: Mapping[str, int]) -> bytes:
        return (start + each * COPIES * parameters["iterations"]).to_bytes(8, "little")

    return expected

"""Micro-kernels of vector arithmetic: throughput and latency, by element width and LMUL."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rvv_runner.calibration.micro_kernel import (
    COPIES,
    Expected,
    MicroKernel,
    elements_of,
    unrolled,
)
from rvv_runner.emulated.instruction_costs import LMULS, SEW_BITS

__all__ = ["legal", "move_kernels", "vector_kernels"]

_FLOATS: Mapping[int, str] = {32: "<f", 64: "<d"}  # for struct
_REGISTERS = {"m2": 2, "m4": 4, "m8": 8}
_FLOAT = tuple(_FLOATS)
_CHAIN_SEWS = (32, 64)

# How the result of a kernel is stored. t2 is free there.
_GROUP, _FIRST, _MASK, _SCALAR = "group", "first", "mask", "scalar"


@dataclass(frozen=True)
class _Pattern:
    """A class of instructions in a loop.

    Args:
        lines: the instructions; {d} stands for a group that is written, {s} for one register,
            v8 and v16 for operands.
        a, b: what v8 and v16 hold, in each element.
        d: what v24 holds before.
        result: how the result is kept.
        value: one element of it, or the number that it is, of VLMAX and of how many times each
            group was written.
        sews: element widths in bits.
        masked: whether it can have a mask.
        lmuls: the groups that it is for.
    """

    lines: tuple[str, ...]
    a: float
    b: float
    result: str
    value: Callable[[int, int], float]
    d: float = 0
    sews: tuple[int, ...] = SEW_BITS
    masked: bool = False
    lmuls: tuple[str, ...] = LMULS

    @property
    def is_float(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return self.lines[0].startswith(("vf", "vmf"))


def _of(number: float) -> Callable[[int, int], float]:
    return lambda vlmax, times: number


def _vlmax(vlmax: int, times: int) -> float:
    return vlmax


_THROUGHPUTS: Mapping[str, _Pattern] = {
    "v_int": _Pattern(("vadd.vv {d},v8,v16",), 7, 3, _GROUP, _of(10), masked=True),
    "v_logic": _Pattern(("vand.vv {d},v8,v16",), 7, 3, _GROUP, _of(3), masked=True),
    "v_shift": _Pattern(("vsll.vv {d},v8,v16",), 7, 3, _GROUP, _of(56), masked=True),
    "v_multiply": _Pattern(("vmul.vv {d},v8,v16",), 7, 3, _GROUP, _of(21), masked=True),
    "v_divide": _Pattern(("vdivu.vv {d},v8,v16",), 100, 3, _GROUP, _of(33)),
    "v_compare": _Pattern(("vmseq.vv {s},v8,v16",), 5, 5, _MASK, _vlmax, masked=True),
    "v_fp": _Pattern(("vfadd.vv {d},v8,v16",), 1.5, 2, _GROUP, _of(3.5), 0, _FLOAT, True),
    "v_fma": _Pattern(
        ("vfmacc.vv {d},v8,v16",), 1.5, 2, _GROUP, lambda _, times: 3.0 * times, 0, _FLOAT, True
    ),
    "v_fp_slow": _Pattern(("vfsgnj.vv {d},v8,v16",), 1.5, -2, _GROUP, _of(-1.5), 0, _FLOAT, True),
    "v_fp_compare": _Pattern(("vmfeq.vv {s},v8,v16",), 5, 5, _MASK, _vlmax, 0, _FLOAT, True),
    "v_fp_divide": _Pattern(("vfdiv.vv {d},v8,v16",), 16.5, 5.5, _GROUP, _of(3), 0, _FLOAT),
    "v_fp_sqrt": _Pattern(("vfsqrt.v {d},v8",), 12.25, 0, _GROUP, _of(3.5), 0, _FLOAT),
    "v_reduce": _Pattern(
        ("vredsum.vs {s},v8,v16",), 7, 3, _FIRST, lambda n, _: 7 * n + 3, masked=True
    ),
    "v_fp_reduce": _Pattern(
        ("vfredusum.vs {s},v8,v16",), 1.5, 2, _FIRST, lambda n, _: 1.5 * n + 2, 0, _FLOAT, True
    ),
    "v_fp_reduce_ordered": _Pattern(
        ("vfredosum.vs {s},v8,v16",), 1.5, 2, _FIRST, lambda n, _: 1.5 * n + 2, 0, _FLOAT
    ),
    "v_slide_up": _Pattern(("vrgather.vi {d},v8,0",), 7, 0, _GROUP, _of(7)),
    "v_slide_down": _Pattern(("vslidedown.vx {d},v8,t0",), 7, 3, _FIRST, _of(7)),
    "v_gather": _Pattern(("vrgather.vv {d},v8,v16",), 7, 0, _GROUP, _of(7), masked=True),
    "v_gather_wide_index": _Pattern(
        ("vrgatherei16.vv {d},v8,v16",), 7, 0, _GROUP, _of(7), 0, (8,), False, LMULS[:-1]
    ),
    "v_compress": _Pattern(("vcompress.vm {d},v8,v16",), 7, -1, _GROUP, _of(7)),
    "v_mask": _Pattern(("vmand.mm {s},v8,v16",), -1, -1, _MASK, _vlmax),
    "v_mask_set": _Pattern(("vmsbf.m {s},v8",), 0, 0, _MASK, _vlmax),
    "v_mask_count": _Pattern(("vcpop.m t1,v8",), -1, 0, _SCALAR, _vlmax),
    "v_to_scalar": _Pattern(("vmv.x.s t1,v8",), 7, 0, _SCALAR, _of(7)),
    "v_scalar_move": _Pattern(("vmv.s.x {s},t0",), 7, 0, _FIRST, _of(1)),
}

# Each needs the result of the one before it. Where that alternates, there is an even number.
_LATENCIES: Mapping[str, _Pattern] = {
    "v_int": _Pattern(("vadd.vv v24,v24,v16",), 0, 3, _GROUP, lambda _, n: 3 * n, sews=_CHAIN_SEWS),
    "v_logic": _Pattern(("vand.vv v24,v24,v16",), 0, -1, _GROUP, _of(7), 7, _CHAIN_SEWS),
    "v_shift": _Pattern(("vsll.vv v24,v24,v16",), 0, 0, _GROUP, _of(7), 7, _CHAIN_SEWS),
    "v_multiply": _Pattern(("vmul.vv v24,v24,v16",), 0, 1, _GROUP, _of(7), 7, _CHAIN_SEWS),
    "v_divide": _Pattern(("vdivu.vv v24,v16,v24",), 0, 99, _GROUP, _of(3), 3, _CHAIN_SEWS),
    # Bits of the mask are read as elements; none of what they can be is equal to 5.
    "v_compare": _Pattern(("vmseq.vv v24,v24,v16",), 0, 5, _MASK, _of(0), 0, _CHAIN_SEWS),
    "v_fp": _Pattern(("vfadd.vv v24,v24,v16",), 0, 1, _GROUP, lambda _, n: n, 0, _FLOAT),
    "v_fma": _Pattern(("vfmacc.vv v24,v8,v16",), 1, 3, _GROUP, lambda _, n: 3 * n, 0, _FLOAT),
    "v_fp_slow": _Pattern(("vfsgnj.vv v24,v24,v16",), 0, 2, _GROUP, _of(3), 3, _FLOAT),
    "v_fp_compare": _Pattern(("vmfeq.vv v24,v24,v16",), 0, 5, _MASK, _of(0), 0, _FLOAT),
    "v_fp_divide": _Pattern(("vfdiv.vv v24,v16,v24",), 0, 16.5, _GROUP, _of(3), 3, _FLOAT),
    "v_fp_sqrt": _Pattern(("vfsqrt.v v24,v24",), 0, 0, _GROUP, _of(1), 1, _FLOAT),
    "v_reduce": _Pattern(
        ("vredsum.vs v24,v8,v24",), 1, 0, _FIRST, lambda vlmax, n: vlmax * n, 0, _CHAIN_SEWS
    ),
    "v_fp_reduce": _Pattern(("vfredusum.vs v24,v8,v24",), 0, 0, _FIRST, _of(3), 3, _FLOAT),
    "v_fp_reduce_ordered": _Pattern(("vfredosum.vs v24,v8,v24",), 0, 0, _FIRST, _of(3), 3, _FLOAT),
    "v_slide_up": _Pattern(
        ("vrgather.vi v24,v8,0", "vrgather.vi v8,v24,0"), 7, 0, _GROUP, _of(7), 7, _CHAIN_SEWS
    ),
    "v_slide_down": _Pattern(("vslidedown.vx v24,v24,t0",), 0, 0, _GROUP, _of(0), 7, _CHAIN_SEWS),
    "v_gather": _Pattern(
        ("vrgather.vv v24,v16,v8", "vrgather.vv v8,v16,v24"),
        0,
        0,
        _GROUP,
        _of(0),
        7,
        _CHAIN_SEWS,
    ),
    "v_compress": _Pattern(
        ("vcompress.vm v24,v8,v16", "vcompress.vm v8,v24,v16"),
        7,
        -1,
        _GROUP,
        _of(7),
        0,
        _CHAIN_SEWS,
    ),
    "v_mask": _Pattern(("vmand.mm v24,v24,v16",), 0, -1, _MASK, _vlmax, -1, _CHAIN_SEWS),
    "v_mask_set": _Pattern(
        ("vmsbf.m v24,v8", "vmsbf.m v8,v24"), 0, 0, _MASK, _of(0), 0, _CHAIN_SEWS
    ),
}


def legal(sew: int, lmul: str) -> bool:
    """Whether the vector extension has such elements in such a group, for ELEN = 64."""
    return not lmul.startswith("mf") or sew <= 64 // int(lmul[2:])


def vector_kernels(latency: bool) -> Iterator[tuple[str, int, str, bool, MicroKernel]]:
    """The kernels with class, element width in bits, LMUL and whether they have a mask.

    Args:
        latency: whether each instruction waits for the one before it.
    """
    for name, pattern in (_LATENCIES if latency else _THROUGHPUTS).items():
        for sew in pattern.sews:
            for lmul in (lmul for lmul in pattern.lmuls if legal(sew, lmul)):
                yield name, sew, lmul, False, _kernel(name, pattern, sew, lmul, latency)
        for lmul in ("m1", "m4") if pattern.masked else ():
            yield name, 32, lmul, True, _kernel(name, pattern, 32, lmul, False, masked=True)


def move_kernels(latency: bool) -> Iterator[tuple[str, int, str, MicroKernel]]:
    """vmv1r to vmv8r, in the same way."""
    for registers in (1, 2, 4, 8):
        lmul = f"m{registers}"
        move = f"vmv{registers}r.v"
        lines = (f"{move} v24,v8", f"{move} v8,v24") if latency else (f"{move} {{d}},v8",)
        pattern = _Pattern(lines, 7, 0, _GROUP, _of(7))
        yield "v_move_whole", 64, lmul, _kernel("v_move_whole", pattern, 64, lmul, latency)


def _kernel(
    name: str, pattern: _Pattern, sew: int, lmul: str, latency: bool, masked: bool = False
) -> MicroKernel:
    size = _REGISTERS.get(lmul, 1)
    # One register of a mask or a sum after the other, or one group.
    groups = [f"v{24 + k * size}" for k in range(8 // size)]
    lines = [
        line.format(d=group, s=f"v{24 + k}") + (",v0.t" if masked else "")
        for k, group in enumerate(groups)
        for line in pattern.lines
    ]
    if latency:
        lines = list(pattern.lines)
    kind = "latency" if latency else "throughput"
    return MicroKernel(
        name=f"{kind} {name} e{sew} {lmul}{' masked' if masked else ''}",
        setup=_setup(pattern, sew, lmul),
        body=unrolled(lines),
        finish=_FINISH[pattern.result].format(sew=sew, last=lines[-1].split(" ")[1].split(",")[0]),
        expected=_expected(pattern, sew, lmul, COPIES // (1 if latency else len(lines))),
        elements=lambda vlen_bits: elements_of(vlen_bits, sew, lmul),
    )


def _bits(value: float, sew: int, is_float: bool) -> int:
    if is_float:
        return int.from_bytes(struct.pack(_FLOATS[sew], value), "little")
    return int(value) % (1 << sew)


def _setup(pattern: _Pattern, sew: int, lmul: str) -> str:
    """Fill v8 to v31 and the mask in v0, then set the type that the loop runs under."""
    fills = (("v8", pattern.a), ("v16", pattern.b), ("v24", pattern.d))
    return "\n".join(
        [
            "vsetvli t0, x0, e8, m8, ta, ma",
            "vmv.v.i v0, -1",
            f"vsetvli t0, x0, e{sew}, m8, ta, ma",
            *(
                f"li t0, {_bits(value, sew, pattern.is_float)}\nvmv.v.x {group}, t0"
                for group, value in fills
            ),
            "li t0, 1",
            f"vsetvli t1, x0, e{sew}, {lmul}, ta, ma",
        ]
    )


_FINISH = {
    _GROUP: "vse{sew}.v {last}, (a6)",
    _FIRST: "vsetivli x0, 1, e{sew}, m1, ta, ma\nvse{sew}.v {last}, (a6)",
    _MASK: "vcpop.m t2, {last}\nsd t2, (a6)",
    _SCALAR: "sd t1, (a6)",
}


def _expected(pattern: _Pattern, sew: int, lmul: str, times_a_loop: int) -> Expected:
    def expected(vlen_bits: int, parameters: Mapping[str, int]) -> bytes:
        vlmax = elements_of(vlen_bits, sew, lmul)
        value = pattern.value(vlmax, parameters["iterations"] * times_a_loop)
        if pattern.result in (_MASK, _SCALAR):
            return int(value).to_bytes(8, "little")
        one = _bits(value, sew, pattern.is_float).to_bytes(sew // 8, "little")
        return one * (vlmax if pattern.result == _GROUP else 1)

    return expected

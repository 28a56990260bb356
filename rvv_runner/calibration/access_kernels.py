"""Micro-kernels of vector loads and stores that hit L1D, by element width and LMUL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rvv_runner.calibration.micro_kernel import (
    BUFFER_BYTES,
    UNTOUCHED,
    Expected,
    MicroKernel,
    elements_of,
    group_bytes,
    input_bytes,
    unrolled,
)
from rvv_runner.calibration.vector_kernels import legal
from rvv_runner.emulated.instruction_costs import LMULS, SEW_BITS

__all__ = ["access_kernels", "whole_register_kernels"]

_REGISTERS = {"m2": 2, "m4": 4, "m8": 8}
_STORED = 0x5D  # in every byte of the stored registers
_GROUP_OF_EIGHT = 8
_INDEX_BITS = 32  # no place is so far away that a wider index starts anew

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Access:
    """A class of accesses.

    Args:
        text: the instruction; {d} is the group, {eew} the width of its elements in bits.
        places: where the elements of the first field lie, by their numbers and their size in
            bytes.
        fields: of a segment.
        step: bytes from one element to the next, in elements; in t0.
        masked: whether it is measured with a mask as well.
    """

    text: str
    places: Callable[[Places, int], Places]
    fields: int = 1
    step: int = 1
    masked: bool = True


def _apart(step: int) -> Callable[[Places, int], Places]:
    return lambda numbers, size: numbers * size * step


def _indexed(numbers: Places, size: int) -> Places:
    """An index of as many bits as an element starts anew where it is full."""
    bits = min(8 * size, _INDEX_BITS)
    return np.asarray(numbers * size % (1 << bits), np.int64)


def _accesses() -> Iterator[tuple[str, _Access]]:
    """Loads into {d} from a5, stores to a6."""
    yield "v_load", _Access("vle{eew}.v {d},(a5)", _apart(1))
    yield "v_store", _Access("vse{eew}.v {d},(a6)", _apart(1))
    yield "v_load_first_fault", _Access("vle{eew}ff.v {d},(a5)", _apart(1))
    yield "v_load_strided", _Access("vlse{eew}.v {d},(a5),t0", _apart(3), step=3)
    yield "v_store_strided", _Access("vsse{eew}.v {d},(a6),t0", _apart(3), step=3)
    yield "v_load_indexed", _Access("vluxei{eew}.v {d},(a5),v16", _indexed, masked=False)
    yield "v_store_indexed", _Access("vsuxei{eew}.v {d},(a6),v16", _indexed, masked=False)
    for n in (2, 3, 4, 6):
        name = f"segment{n}" if n <= 4 else "segment_many"
        yield f"v_load_{name}", _Access(f"vlseg{n}e{{eew}}.v {{d}},(a5)", _apart(n), n)
        yield f"v_store_{name}", _Access(f"vsseg{n}e{{eew}}.v {{d}},(a6)", _apart(n), n)
    for n in (2, 3, 4):
        step = n + 1
        yield (
            f"v_load_strided_segment{n}",
            _Access(f"vlsseg{n}e{{eew}}.v {{d}},(a5),t0", _apart(step), n, step, masked=False),
        )
        yield (
            f"v_store_strided_segment{n}",
            _Access(f"vssseg{n}e{{eew}}.v {{d}},(a6),t0", _apart(step), n, step, masked=False),
        )


def access_kernels() -> Iterator[tuple[str, int, str, bool, MicroKernel]]:
    """The kernels with class, element width in bits, LMUL and whether they have a mask."""
    for name, access in _accesses():
        for sew in SEW_BITS:
            for lmul in LMULS:
                fits = access.fields * _REGISTERS.get(lmul, 1) <= _GROUP_OF_EIGHT
                if fits and legal(sew, lmul):
                    yield name, sew, lmul, False, _kernel(name, access, sew, lmul)
        for lmul in ("m1", "m2") if access.masked and access.fields <= 4 else ():
            yield name, 32, lmul, True, _kernel(name, access, 32, lmul, masked=True)
    for name in ("v_load_mask", "v_store_mask"):
        for lmul in ("m1", "m2", "m4", "m8"):
            yield name, 8, lmul, False, _mask_kernel(name, lmul)


def whole_register_kernels() -> Iterator[tuple[str, int, str, MicroKernel]]:
    """vl1r to vl8r and vs1r to vs8r, in the same way."""
    for registers in (1, 2, 4, 8):
        lmul = f"m{registers}"
        load = _Access(f"vl{registers}re{{eew}}.v {{d}},(a5)", _apart(1))
        store = _Access(f"vs{registers}r.v {{d}},(a6)", _apart(1))
        yield "v_load_whole", 64, lmul, _kernel("v_load_whole", load, 64, lmul)
        yield "v_store_whole", 64, lmul, _kernel("v_store_whole", store, 64, lmul)


def _kernel(name: str, access: _Access, sew: int, lmul: str, masked: bool = False) -> MicroKernel:
    load = name.startswith("v_load")
    text = access.text.format(eew=sew, d="v24" if load else "v8") + (",v0.t" if masked else "")
    return MicroKernel(
        name=f"throughput {name} e{sew} {lmul}{' masked' if masked else ''}",
        setup=_setup(sew, lmul, access.step),
        body=unrolled([text]),
        finish=f"vse{sew}.v v24, (a6)" if load else "",
        expected=(_loaded if load else _written)(access, sew, lmul),
        elements=lambda vlen_bits: elements_of(vlen_bits, sew, lmul) * access.fields,
    )


def _setup(sew: int, lmul: str, step: int) -> str:
    """Data in v8 to v15, places in v16, a mask of ones in v0, bytes between elements in t0."""
    return "\n".join(
        [
            "vsetvli t0, x0, e8, m8, ta, ma",
            "vmv.v.i v0, -1",
            f"li t0, {_STORED}\nvmv.v.x v8, t0",
            f"vsetvli t0, x0, e{sew}, {lmul}, ta, ma",
            f"vid.v v16\nvsll.vi v16, v16, {(sew // 8).bit_length() - 1}",
            f"li t0, {step * sew // 8}",
        ]
    )


def _places(access: _Access, vlen_bits: int, sew: int, lmul: str) -> Places:
    """The bytes of the first field, element by element."""
    numbers = np.arange(elements_of(vlen_bits, sew, lmul))
    starts = access.places(numbers, sew // 8)
    return (starts[:, None] + np.arange(sew // 8)).reshape(-1)


def _loaded(access: _Access, sew: int, lmul: str) -> Expected:
    def expected(vlen_bits: int, parameters: Mapping[str, int]) -> bytes:
        return input_bytes()[_places(access, vlen_bits, sew, lmul)].tobytes()

    return expected


def _written(access: _Access, sew: int, lmul: str) -> Expected:
    def expected(vlen_bits: int, parameters: Mapping[str, int]) -> bytes:
        output = np.full(BUFFER_BYTES, UNTOUCHED, np.uint8)
        places = _places(access, vlen_bits, sew, lmul)
        for field in range(access.fields):
            output[places + field * sew // 8] = _STORED
        return output.tobytes()

    return expected


def _mask_kernel(name: str, lmul: str) -> MicroKernel:
    """vlm and vsm: a bit for each element."""
    load = name == "v_load_mask"

    def expected(vlen_bits: int, parameters: Mapping[str, int]) -> bytes:
        size = group_bytes(vlen_bits, lmul) // 8
        return input_bytes()[:size].tobytes() if load else bytes([_STORED]) * size

    return MicroKernel(
        name=f"throughput {name} e8 {lmul}",
        setup=_setup(8, lmul, 1),
        body=unrolled(["vlm.v v24,(a5)" if load else "vsm.v v8,(a6)"]),
        finish="vsm.v v24,(a6)" if load else "",
        expected=expected,
        elements=lambda vlen_bits: group_bytes(vlen_bits, lmul) // 8,
    )

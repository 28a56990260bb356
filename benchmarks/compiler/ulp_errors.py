"""Largest errors of the vector code for mathematical functions, against double precision.

python benchmarks/compiler/ulp_errors.py [NAME ...] [--step 1]

With a step of 1, functions of one argument are tried on every float32, which takes about two
minutes of one core each. Functions of two arguments are tried on as many random pairs. The code
runs on this machine. It consists of operations that IEEE 754 defines exactly. On RISC-V, exp, exp2,
log, log2, erf, tanh and what is made of them round a step or two otherwise, and rsqrt begins with
an estimate.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt
import scipy.special

from foundation.command_line import run_script
from triton_rvv.codegen.llvm import generate
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.math import EMITTERS
from triton_rvv.lowering.math.lanes import Emit
from triton_rvv.lowering.math.libdevice import FUNCTIONS
from triton_rvv.targets.host_target import host_target

__all__ = ["REFERENCES", "WIDTH", "compiled", "largest_error"]

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

WIDTH = 16
# Small enough that every array stays in the cache.
CHUNK = 1 << 14


def _of_half_turns(x: Doubles, first_quadrant: int) -> Doubles:
    """sin(pi x) for 0 and cos(pi x) for 1; whole quarters of a circle are subtracted exactly."""
    turn = np.fmod(x, 2.0)
    quarters = np.rint(2 * turn)
    r = np.pi * (turn - quarters / 2)
    quadrant = (quarters.astype(np.int64) + first_quadrant) & 3
    result = np.where(quadrant & 1, np.cos(r), np.sin(r))
    return np.where(quadrant & 2, -result, result)


REFERENCES: dict[str, Callable[..., Doubles]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "erfcx": scipy.special.erfcx,
    "erfinv": scipy.special.erfinv,
    "erfcinv": scipy.special.erfcinv,
    "normcdf": scipy.special.ndtr,
    "normcdfinv": scipy.special.ndtri,
    # SciPy gives NaN at the infinities.
    "cyl_bessel_i0": lambda x: np.where(np.isinf(x), np.abs(x), scipy.special.i0(x)),
    "cyl_bessel_i1": lambda x: np.where(np.isinf(x), x, scipy.special.i1(x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "tan": np.tan,
    "exp10": lambda x: np.power(10.0, x),
    "expm1": np.expm1,
    "log10": np.log10,
    "log1p": np.log1p,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "cbrt": np.cbrt,
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "sinpi": lambda x: _of_half_turns(x, 0),
    "cospi": lambda x: _of_half_turns(x, 1),
    "pow": np.power,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
}
OF_TWO = ("pow", "atan2", "hypot", "rhypot")


@dataclass(frozen=True)
class Error:
    """The largest error of a function in ulp, and the arguments at which it occurs."""

    ulp: float
    arguments: tuple[float, ...]


def compiled(emit: Emit, operands: int, element: str = "float") -> Callable[..., None]:
    """A function as machine code: (arrays, result, count) with a multiple of `WIDTH`."""
    builder, type_ = Builder(), vector_type(element, WIDTH)
    with builder.loop(integer(0), Val("i64", "%n"), integer(WIDTH)) as position:

        def place(pointer: str) -> Val:
            return builder.element_pointer(element, Val("ptr", pointer), position)

        values = [builder.load(type_, place(f"%x{i}"), 4) for i in range(operands)]
        builder.store(emit(builder, values), place("%out"), 4)
    target = host_target()
    pointers = ", ".join(f"ptr %x{i}" for i in range(operands))
    attributes = f'"target-cpu"="{target.cpu}" "target-features"="{target.features}"'
    text = "\n".join(
        [
            f'target triple = "{target.triple}"',
            *builder.constants,
            *(text for _, text in builder.helpers.values()),
            f"define void @sweep({pointers}, ptr %out, i64 %n) #0 {{",
            "entry:",
            *builder.allocas,
            *builder.lines,
            "  ret void",
            "}",
            *sorted(builder.declarations),
            f"attributes #0 = {{ {attributes} }}",
        ]
    )
    return _loaded(generate(text, target).object, operands)


def _loaded(content: bytes, operands: int) -> Callable[..., None]:
    for name in ("libm.so.6", "libgcc_s.so.1"):
        llvm.load_library_permanently(name)
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    arguments = [ctypes.c_void_p] * (operands + 1)
    prototype = ctypes.CFUNCTYPE(None, *arguments, ctypes.c_int64)
    function = prototype(engine.get_function_address("sweep"))

    def run(*arrays: npt.NDArray[Any]) -> None:
        # The engine owns the code.
        assert engine is not None
        function(*(array.ctypes.data for array in arrays), len(arrays[0]))

    return run


def every_float(step: int) -> Iterator[tuple[Floats]]:
    """All float32 numbers, or every `step`-th of them, in chunks."""
    for start in range(0, 1 << 32, CHUNK * step):
        bits = start + step * np.arange(CHUNK, dtype=np.uint64)
        yield ((bits & 0xFFFFFFFF).astype(np.uint32).view(np.float32),)


def random_pairs(name: str, step: int) -> Iterator[tuple[Floats, Floats]]:
    """Pairs over the whole range; for powers, mostly those with a result in float32's range."""
    random = np.random.default_rng(0)
    for number in range(max((1 << 32) // (CHUNK * step), 1)):
        pair = random.integers(0, 1 << 32, (2, CHUNK), np.uint32).view(np.float32)
        x, y = pair
        if name == "pow" and number % 4:
            x = np.abs(x)
            with np.errstate(all="ignore"):
                y = (random.uniform(-150, 128, CHUNK) / np.log2(x.astype(np.float64))).astype("f4")
        yield x, y


def ulps(result: Floats, exact: Doubles) -> Doubles:
    """Distance in float32's units in the last place at `exact`."""
    power = (exact.view(np.uint64) & np.uint64(0x7FF << 52)).view(np.float64)
    np.maximum(power, 2.0**-126, out=power)
    error = result - exact
    np.abs(error, out=error)
    error /= power
    error *= 2.0**23
    special = np.flatnonzero(~(error < np.inf))
    if len(special):
        error[special] = _special_error(result[special].astype(np.float64), exact[special])
    return error


def _special_error(result: Doubles, exact: Doubles) -> Doubles:
    """The same if one of the two is infinite or NaN; infinity is near the largest float."""
    nearest = exact.astype(np.float32)
    same = (result == nearest) | (np.isnan(result) & np.isnan(nearest))
    beyond = np.isinf(result) & np.isfinite(nearest) & (result * exact > 0)
    distance = np.where(beyond, (2.0**128 - np.abs(exact)) / 2.0**104, np.inf)
    return np.where(same, 0.0, distance)


def largest_error(name: str, step: int) -> Error:
    """The largest error of a function over the whole range, every `step`-th argument."""
    reference, operands = REFERENCES[name], 2 if name in OF_TWO else 1
    emit, _ = FUNCTIONS.get(f"{name}f") or EMITTERS[f"math.{name}"]
    run = compiled(emit, operands)
    worst = Error(0.0, ())
    result = np.empty(CHUNK, np.float32)
    chunks = random_pairs(name, step) if operands == 2 else every_float(step)
    with np.errstate(all="ignore"):
        for arguments in chunks:
            arrays: Sequence[Any] = [np.ascontiguousarray(array) for array in arguments]
            run(*arrays, result)
            exact = reference(*(array.astype(np.float64) for array in arrays))
            error = ulps(result, exact)
            place = int(np.argmax(error))
            if error[place] > worst.ulp:
                worst = Error(float(error[place]), tuple(float(a[place]) for a in arrays))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="functions; all by default")
    parser.add_argument("--step", type=int, default=1, help="distance between two arguments")
    arguments = parser.parse_args()
    for name in arguments.names or REFERENCES:
        start_s = time.perf_counter()
        worst = largest_error(name, arguments.step)
        where = ", ".join(f"{argument:.9g}" for argument in worst.arguments)
        print(
            f"{name:13} {worst.ulp:8.4f} ulp at ({where})  [{time.perf_counter() - start_s:.0f} s]",
            flush=True,
        )


if __name__ == "__main__":
    run_script(main)

"""What code is generated for: a RISC-V core with vectors of a known length, or this machine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from triton_rvv.targets.cores import (
    CORES,
    DEFAULT_EXTENSIONS,
    Core,
)
from triton_rvv.targets.machine import MACHINES, X60, Machine, Prefetch
from triton_rvv.targets.matrix_unit import MatrixUnit, matrix_unit_of

__all__ = [
    "SUPPORTED_VLEN_BITS",
    "Backend",
    "RVVTarget",
    "Target",
    "digest",
    "with_prefetch",
]

# The kinds of targets, by the names that Triton knows them by.
Backend = Literal["rvv", "host"]

SUPPORTED_VLEN_BITS = (128, 256, 512, 1024)


class Target(Protocol):
    """What the lowering and LLVM have to know of a processor."""

    @property
    def backend(self) -> Backend:
        """The kind of target."""
        ...

    @property
    def cpu(self) -> str:
        """LLVM's name of the core."""
        ...

    @property
    def triple(self) -> str:
        """LLVM's name of the platform."""
        ...

    @property
    def features(self) -> str:
        """LLVM's feature string."""
        ...

    @property
    def vector_bits(self) -> int:
        """Bits in one vector register."""
        ...

    @property
    def vector_registers(self) -> int:
        """How many vector registers there are."""
        ...

    @property
    def run_registers(self) -> int:
        """Registers that one run of elements takes (on RISC-V, the LMUL)."""
        ...

    @property
    def long_run_registers(self) -> int:
        """Registers of a run where more of them pay."""
        ...

    @property
    def tile_rows(self) -> int:
        """Rows of a register tile of a matrix product, each one run wide; a power of two."""
        ...

    @property
    def machine(self) -> Machine:
        """Caches and latencies that decide which code is made."""
        ...

    @property
    def converts_bf16(self) -> bool:
        """Whether there are instructions between bf16 and fp32."""
        ...

    @property
    def matrix_unit(self) -> MatrixUnit | None:
        """What multiplies small matrices of 8-bit integers; None without such."""
        ...

    @property
    def has_float_extremes(self) -> bool:
        """Whether an instruction gives the smallest or largest float of a register's lanes."""
        ...

    @property
    def scales_floats(self) -> bool:
        """Whether an instruction multiplies registers of floats by powers of two."""
        ...

    @property
    def loads_masked_registers(self) -> bool:
        """Whether an instruction loads 256 bits under a mask that lies in such a register, too."""
        ...

    @property
    def transposes_registers(self) -> bool:
        """Whether squares of elements are loaded by row and transposed, not gathered by column."""
        ...

    @property
    def masks_are_slow(self) -> bool:
        """Whether the part of a row that needs no masks is worth a loop of its own."""
        ...

    def steps_together(self, element: str) -> int:
        """Steps along K of a product that one instruction multiplies and adds; 1 without one.

        Args:
            element: MLIR's name of the operands' type.
        """
        ...

    @property
    def sums_bytes_in_16_bits(self) -> bool:
        """Whether multiply-adds of bytes into 16 bits are faster than those into 32."""
        ...

    def widened_by_product(self, element: str) -> str | None:
        """The type of elements that multiply-adds take and widen to 32 bits; None without such.

        Args:
            element: MLIR's name of the operands' type.
        """
        ...

    def lanes(self, element_bits: int) -> int:
        """Elements of `element_bits` in one vector register."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class RVVTarget:
    """A RISC-V core with the vector extension 1.0.

    Args:
        vlen_bits: bits in one vector register. Code for one length is wrong on a shorter one and
            leaves a longer one idle, so the launcher refuses any other.
        cpu: LLVM's name of the core; its scheduling model orders the instructions.
        extensions: what code may use beyond rv64gcv, by LLVM's names (see `CORES`).
        machine: caches and latencies that decide which code is made; it runs on any other too.

    Raises:
        ValueError: for a vector length that is not one of SUPPORTED_VLEN_BITS, or not the one that
            a matrix unit has.
    """

    vlen_bits: int = 256
    cpu: str = "generic-rv64"
    extensions: tuple[str, ...] = DEFAULT_EXTENSIONS
    machine: Machine = X60

    @classmethod
    def named(cls, name: str, vlen_bits: int | None = None, tune: str | None = None) -> RVVTarget:
        """The target for a core.

        Args:
            name: one of `triton_rvv.targets.cores.CORES`, or LLVM's name of a core, which gets the
                extensions that every core has.
            vlen_bits: bits in a vector register; without it the core's own, or 256.
            tune: one of MACHINES, for whose caches and latencies code is made; without it the
                core's own, or the X60's.

        Raises:
            ValueError: for a vector length that is not one of SUPPORTED_VLEN_BITS.
        """
        core = CORES.get(name, Core(name, cls.vlen_bits))
        machine = core.machine if tune is None else MACHINES[tune]
        return cls(vlen_bits or core.vlen_bits, core.cpu, core.extensions, machine)

    def __post_init__(self) -> None:
        if self.vlen_bits not in SUPPORTED_VLEN_BITS:
            raise ValueError(
                f"a vector length of {self.vlen_bits} bits is not supported: "
                f"choose one of {', '.join(map(str, SUPPORTED_VLEN_BITS))}"
            )
        matrix_unit_of(self.extensions, self.vlen_bits)

    @property
    def backend(self) -> Literal["rvv"]:
        return "rvv"

    @property
    def triple(self) -> str:
        return "riscv64-unknown-linux-gnu"

    @property
    def features(self) -> str:
        """LLVM's feature string: rv64gcv, the vector length and the extensions."""
        return ",".join((f"+m,+a,+f,+d,+c,+v,+zvl{self.vlen_bits}b", *self.extensions))

    @property
    def matrix_unit(self) -> MatrixUnit | None:
        return matrix_unit_of(self.extensions, self.vlen_bits)

    @property
    def converts_bf16(self) -> bool:
        return "+zvfbfmin" in self.extensions

    @property
    def vector_bits(self) -> int:
        return self.vlen_bits

    @property
    def vector_registers(self) -> int:
        return 32

    @property
    def run_registers(self) -> int:
        """LMUL 2 hides most of a loop's overhead, and leaves groups for long expressions."""
        return 2

    @property
    def long_run_registers(self) -> int:
        """The largest LMUL that leaves an expression more than three groups."""
        return 4

    @property
    def tile_rows(self) -> int:
        """8 accumulators of LMUL 2 and three rows of B leave registers to spare.

        Eight independent chains hide the latency of a multiply-add.
        """
        return 8

    @property
    def has_float_extremes(self) -> bool:
        return True

    @property
    def scales_floats(self) -> bool:
        return False

    @property
    def loads_masked_registers(self) -> bool:
        return False

    @property
    def transposes_registers(self) -> bool:
        return False

    @property
    def masks_are_slow(self) -> bool:
        return False

    def steps_together(self, element: str) -> int:
        return 1

    @property
    def sums_bytes_in_16_bits(self) -> bool:
        """`vwmacc` takes bytes to 16 bits; a matrix unit's sums have 32 as they are."""
        return self.matrix_unit is None

    def widened_by_product(self, element: str) -> str | None:
        """`vwmacc` takes 16-bit integers, `vfwmacc` (Zvfh) fp16."""
        types = {"i8": "i16", "f16": "f16" if "+zvfh" in self.extensions else None}
        return types.get(element)

    def lanes(self, element_bits: int) -> int:
        return self.vlen_bits // element_bits

    def __str__(self) -> str:
        name = f"{self.cpu}-vlen{self.vlen_bits}"
        if self.extensions != DEFAULT_EXTENSIONS:
            name += f"-{digest(','.join(self.extensions))}"
        return name if self.machine == X60 else f"{name}-{digest(repr(self.machine))}"


def with_prefetch(target: Target, prefetch: Prefetch | None) -> Target:
    """The target with software prefetches from another distance; None for its own.

    A machine that foresees rows by itself, as a host's, is no other target.

    """
    if prefetch in (None, "near") or not isinstance(target, RVVTarget):
        return target
    return replace(target, machine=target.machine.with_prefetch(prefetch))


def digest(text: str) -> str:
    """A few letters that tell texts apart."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]

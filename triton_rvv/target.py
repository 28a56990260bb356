"""What code is generated for: a RISC-V core with vectors of a known length, or this machine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = ["SUPPORTED_VLEN_BITS", "Backend", "HostTarget", "RVVTarget", "Target"]

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
    def tile_rows(self) -> int:
        """Rows of a register tile of a matrix product, each one run wide; a power of two."""
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

    Raises:
        ValueError: for a vector length that is not one of SUPPORTED_VLEN_BITS.
    """

    vlen_bits: int = 256
    cpu: str = "generic-rv64"

    def __post_init__(self) -> None:
        if self.vlen_bits not in SUPPORTED_VLEN_BITS:
            raise ValueError(
                f"a vector length of {self.vlen_bits} bits is not supported: "
                f"choose one of {', '.join(map(str, SUPPORTED_VLEN_BITS))}"
            )

    @property
    def backend(self) -> Literal["rvv"]:
        return "rvv"

    @property
    def triple(self) -> str:
        return "riscv64-unknown-linux-gnu"

    @property
    def features(self) -> str:
        """LLVM's feature string: rv64gcv, the vector length and RVA22's bit manipulation."""
        # QEMU 7.2 ends a program over Zicond, which some cores bring along.
        return f"+m,+a,+f,+d,+c,+v,+zvl{self.vlen_bits}b,+zba,+zbb,+zbs,+zfh,+zvfh,+zicbop,-zicond"

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
    def tile_rows(self) -> int:
        """8 accumulators of LMUL 2 and three rows of B leave registers to spare.

        Eight independent chains hide the latency of a multiply-add.
        """
        return 8

    def lanes(self, element_bits: int) -> int:
        return self.vlen_bits // element_bits

    def __str__(self) -> str:
        return f"{self.cpu}-vlen{self.vlen_bits}"


@dataclass(frozen=True)
class HostTarget:
    """A processor with vector registers of a fixed length, as this machine's.

    `triton_rvv.host_target.host_target` describes the machine it runs on.

    Args:
        triple: LLVM's name of the platform.
        cpu: LLVM's name of the core.
        features: LLVM's feature string.
        vector_bits: bits in one vector register.
        vector_registers: how many there are.
    """

    triple: str
    cpu: str
    features: str
    vector_bits: int
    vector_registers: int

    @property
    def backend(self) -> Literal["host"]:
        return "host"

    @property
    def run_registers(self) -> int:
        return 2

    @property
    def tile_rows(self) -> int:
        """As many accumulators of one run as leave half of the registers to the operands."""
        return self.vector_registers // (2 * self.run_registers)

    def lanes(self, element_bits: int) -> int:
        return self.vector_bits // element_bits

    def __str__(self) -> str:
        features = hashlib.sha256(self.features.encode()).hexdigest()[:8]
        return f"host-{self.cpu}-{features}-vector{self.vector_bits}"

"""What code is generated for: a RISC-V core with vectors of a known length."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SUPPORTED_VLEN_BITS", "RVVTarget"]

SUPPORTED_VLEN_BITS = (128, 256, 512, 1024)


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
    def triple(self) -> str:
        """LLVM's name of the platform."""
        return "riscv64-unknown-linux-gnu"

    @property
    def features(self) -> str:
        """LLVM's feature string: rv64gcv, the vector length and RVA22's bit manipulation."""
        # QEMU 7.2 ends a program over Zicond, which some cores bring along.
        return f"+m,+a,+f,+d,+c,+v,+zvl{self.vlen_bits}b,+zba,+zbb,+zbs,+zfh,+zvfh,+zicbop,-zicond"

    def lanes(self, element_bits: int) -> int:
        """Elements of `element_bits` in one vector register (LMUL 1)."""
        return self.vlen_bits // element_bits

    def __str__(self) -> str:
        return f"{self.cpu}-vlen{self.vlen_bits}"

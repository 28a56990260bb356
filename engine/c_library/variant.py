"""A function of the library, and the code that it chooses from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.c_library.library_winner import LibraryWinner
from foundation.c_expressions import Operand
from foundation.config import Config, ParameterValue
from foundation.shapes import Shape
from kernels.plain_calls.call import PlainCall, Sizes
from triton_rvv.targets.target import RVVTarget

__all__ = ["Function", "LibraryKernel", "Variant"]


@dataclass(frozen=True)
class Variant:
    """A configuration of a kernel for one vector length.

    Args:
        target: what its code is made for.
        config: the configuration.
        shape: the sizes for which it is right, or near which it is taken.
        winner: what it comes from. Its configuration, target and shape may differ.
        covers: the largest size that its block covers; 0 if none has to be covered.
        above: the largest such size of the next smaller block; -1 for the smallest.
        entry: the symbol of its code; variants that differ in their shape share one, unless it is
            made for the shape alone.
        exact: whether its code is what was measured, for its shape alone, with rows that follow one
            another.
    """

    target: RVVTarget
    config: Config
    shape: Shape
    winner: LibraryWinner
    covers: int = 0
    above: int = 0
    entry: str = ""
    exact: bool = False


class LibraryKernel(Protocol):
    """A kernel as the library needs it: a shipped one, or one of a user's file.

    Attributes:
        name: for people.
        may_lack_variants: whether sizes may be left without code, where it does not compile.
        function: the `@triton.jit` function.
    """

    name: str
    function: Any
    may_lack_variants: bool

    @property
    def call(self) -> PlainCall:
        """How the function of the library is called."""
        ...

    def variants(self, tuned: Sequence[Variant]) -> list[Variant]:
        """The tuned ones, and those that are needed for other sizes."""
        ...

    def constants(self, variant: Variant) -> dict[str, ParameterValue | None]:
        """What the variant's code is compiled with: right for every size that it is taken for."""
        ...

    def grid(self, variant: Variant, sizes: Sizes) -> Sequence[Operand]:
        """Programs along x, y and z.

        Raises:
            UserError: if the kernel's own function has no equal in C.
        """
        ...

    def room_elements(self, variant: Variant, sizes: Sizes) -> Sequence[Operand]:
        """The elements of each of the call's rooms."""
        ...

    def conditions(self, variant: Variant, sizes: Sizes) -> Sequence[Operand]:
        """What has to hold of a call's sizes for the variant to be right; 0 where it does not."""
        ...

    def is_tuned(self, variant: Variant) -> bool:
        """Whether exactly this was measured."""
        ...

    def notes(self, variants: Sequence[Variant]) -> list[str]:
        """Sentences for callers on the sizes that a function takes."""
        ...

    def limits_in_words(self, variants: Sequence[Variant]) -> str:
        """For which sizes alone there is code, and why, as this export found it; "" for any."""
        ...


@dataclass(frozen=True)
class Function:
    """A kernel with one element type, as the library has it: `name` in C."""

    name: str
    dtype: str
    kernel: LibraryKernel
    variants: tuple[Variant, ...]

    @property
    def call(self) -> PlainCall:
        """How it is called."""
        return self.kernel.call

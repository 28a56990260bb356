"""A shipped kernel as the C library needs it: its plain call, and code for rows of any length."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine.c_library.variant import Variant
from foundation.c_expressions import Operand, compared
from foundation.config import Config, ParameterValue
from foundation.errors import UserError
from foundation.shapes import Shape
from kernels.plain_calls import plain_call
from kernels.plain_calls.call import Sizes, config_at
from kernels.registry import load_kernel
from kernels.spec import Problem

__all__ = ["ShippedKernel"]

# The smallest size for which a block that covers it has code of its own.
_LEAST_COVERED = 16


class ShippedKernel:
    """One of the kernels with a file in `kernels.plain_calls`, with one element type."""

    may_lack_variants = False

    def __init__(self, name: str, dtype: str) -> None:
        self.name = name
        self.call = plain_call(name)
        self._spec = load_kernel(name)
        self._dtype = dtype
        self.function = self._spec.kernel

    def variants(self, tuned: Sequence[Variant]) -> list[Variant]:
        """The tuned ones, and others for sizes that have to be covered."""
        if self.call.covered is None:
            return list(tuned)
        covering = [replace(v, covers=self._covers(v.shape)) for v in tuned]
        every = []
        for target in dict.fromkeys(variant.target for variant in tuned):
            own = [variant for variant in covering if variant.target == target]
            both = [*own, *self._between(own)]
            sizes = [-1, *sorted({variant.covers for variant in both})]
            above = dict(zip(sizes[1:], sizes, strict=False))
            every += [replace(variant, above=above[variant.covers]) for variant in both]
        return every

    def constants(self, variant: Variant) -> dict[str, ParameterValue | None]:
        """Of a variant's code: right for every size that it is taken for.

        A kernel may leave out masks where its blocks divide the sizes of the study; the sizes that
        stand here for all others are odd, so that none is left out.
        """
        call = self.call
        if variant.exact:
            return dict(self._problem(variant.shape).constants(variant.config))
        odd = {
            name: (size // call.multiple_of.get(name, 1) | 1) * call.multiple_of.get(name, 1)
            for name, size in variant.shape.items()
        }
        if call.covered is not None:
            odd[call.covered.size] = max(variant.covers - 1, 1)
        return dict(self._problem(odd).constants(variant.config))

    def grid(self, variant: Variant, sizes: Sizes) -> Sequence[Operand]:
        """The kernel's own function of the sizes, called with expressions."""
        try:
            return self._spec.grid(self._problem(sizes), variant.config)
        except TypeError as error:
            raise UserError(f"the grid of {self.name} cannot be written in C: {error}") from error

    def room_elements(self, variant: Variant, sizes: Sizes) -> Sequence[Operand]:
        """The elements of each of the call's rooms."""
        problem = self._problem(sizes)
        return [room.elements(problem, variant.config) for room in self.call.rooms]

    def conditions(self, variant: Variant, sizes: Sizes) -> Sequence[Operand]:
        """Its block covers the size, and no variant has a smaller one that does."""
        if self.call.covered is None:
            return ()
        size = sizes[self.call.covered.size]
        return compared(size, "<=", variant.covers), compared(variant.above, "<", size)

    def is_tuned(self, variant: Variant) -> bool:
        """Whether exactly this was measured."""
        winner = variant.winner
        return (variant.config, variant.target) == (winner.config, winner.target)

    def notes(self, variants: Sequence[Variant]) -> list[str]:
        """The largest size that the function takes at every vector length."""
        call, most = self.call, dict[int, int]()
        for variant in variants:
            vlen_bits = variant.target.vlen_bits
            most[vlen_bits] = max(most.get(vlen_bits, 0), variant.covers)
        notes = [f"{name} is a multiple of {of}." for name, of in call.multiple_of.items()]
        if call.covered:
            notes.append(f"{call.covered.size} is at most {min(most.values())}.")
        return notes

    def limits_in_words(self, variants: Sequence[Variant]) -> str:
        """None: what it takes does not depend on the studies."""
        return ""

    def _problem(self, shape: Sizes) -> Problem:
        return Problem(self._spec, shape, self._dtype)

    def _covers(self, shape: Shape) -> int:
        assert self.call.covered is not None
        return _power_above(shape[self.call.covered.size])

    def _between(self, tuned: Sequence[Variant]) -> Iterator[Variant]:
        """Variants for sizes that have to be covered, and that no winner covers closely."""
        covered = self.call.covered
        assert covered is not None
        known = {variant.covers for variant in tuned}
        size = _LEAST_COVERED
        while size <= covered.most:
            if size not in known:
                apart = min(abs(math.log2(covers / size)) for covers in known)
                near = [v for v in tuned if abs(math.log2(v.covers / size)) == apart]
                yield from _unique(self._resized(variant, size) for variant in near)
            size *= 2

    def _resized(self, variant: Variant, size: int) -> Variant:
        assert self.call.covered is not None
        shape = {**variant.shape, self.call.covered.size: size}
        config = config_at(self._problem(shape), variant.config, self.call)
        return replace(variant, config=config, shape=shape, covers=size)


def _power_above(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _unique(variants: Iterator[Variant]) -> list[Variant]:
    """The first with each configuration and number of cores."""
    first: dict[tuple[Config, int], Variant] = {}
    for variant in variants:
        first.setdefault((variant.config, variant.winner.cores), variant)
    return list(first.values())

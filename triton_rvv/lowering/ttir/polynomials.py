"""Sums of products of integers that are known by name, such as addresses of blocks are.

%x + 1024*%pid + i0      i0 is the position along the first dimension of the block
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from triton_rvv.frontend.ttir import Value
from triton_rvv.frontend.types import PointerType

__all__ = ["ONE", "ZERO", "Atom", "Extended", "Polynomial", "Position", "Unknown", "axes_of"]

# Sums of more products, or of longer or larger ones, are taken for unknown numbers.
_MAX_TERMS, _MAX_FACTORS, _MAX_NUMBER = 24, 6, 1 << 62


@dataclass(frozen=True)
class Position:
    """Where an element is along a dimension."""

    axis: int

    @property
    def axes(self) -> frozenset[int]:
        return frozenset([self.axis])

    def __str__(self) -> str:
        return f"i{self.axis}"


@dataclass(frozen=True)
class Unknown:
    """Elements of a block that no sum explains, such as loaded ones or quotients.

    Args:
        value: the block, or what a loop changes in one.
        axes_in_order: for each dimension of the block along which it varies, which one that is of
            the block whose elements are told.
        name: what people see.
        operands: of a quotient or remainder, what is divided and by what; these follow from the
            value.
        is_quotient: whether it is a quotient or remainder of positions.
    """

    value: Value
    axes_in_order: tuple[int, ...]
    name: str
    operands: tuple[Polynomial, ...] = field(default=(), compare=False)
    is_quotient: bool = False

    @property
    def axes(self) -> frozenset[int]:
        return frozenset(self.axes_in_order)

    @property
    def quotients(self) -> int:
        """How many quotients and remainders are shown, in one another or beside each other."""
        atoms = [atom for operand in self.operands for atom in operand.atoms]
        inner = sum(atom.quotients for atom in atoms if isinstance(atom, Unknown))
        return bool(self.operands) + inner

    def on_axes(self, to: Callable[[int], int]) -> Unknown:
        """The same of a block whose dimensions are others."""
        axes = tuple(map(to, self.axes_in_order))
        operands = tuple(operand.on_axes(to) for operand in self.operands)
        return Unknown(self.value, axes, self.name, operands, self.is_quotient)

    def __str__(self) -> str:
        if not self.operands:
            return self.name
        left, right = (str(each) if len(each.terms) == 1 else f"({each})" for each in self.operands)
        return f"({left} {self.name} {right})"


@dataclass(frozen=True)
class Extended:
    """A sum of 32 bits, which may wrap, with its sign in 64 bits."""

    sum: Polynomial

    @property
    def axes(self) -> frozenset[int]:
        return frozenset()

    def __str__(self) -> str:
        return f"({self.sum})"


# A scalar of the kernel is its own name.
Atom = Value | Position | Unknown | Extended
_Product = tuple[Atom, ...]


def _name(atom: Atom) -> str:
    return atom.name if isinstance(atom, Value) else str(atom)


def axes_of(atom: Atom) -> frozenset[int]:
    """The dimensions along which an atom varies."""
    return frozenset() if isinstance(atom, Value) else atom.axes


@dataclass(frozen=True)
class Polynomial:
    """An integer by its terms: products of atoms, each with its factor; never a factor of 0."""

    terms: tuple[tuple[_Product, int], ...] = ()

    @staticmethod
    def of(atom: Atom | int) -> Polynomial:
        """A number, or what is known by name."""
        if isinstance(atom, int):
            return Polynomial((((), atom),) if atom else ())
        return Polynomial((((atom,), 1),))

    @staticmethod
    def _sum(terms: Iterable[tuple[_Product, int]]) -> Polynomial:
        total: dict[_Product, int] = {}
        for product, factor in terms:
            total[product] = total.get(product, 0) + factor
        kept = [(product, factor) for product, factor in total.items() if factor]
        return Polynomial(tuple(sorted(kept, key=_order) if len(kept) > 1 else kept))

    def __add__(self, other: Polynomial) -> Polynomial:
        if not (self.terms and other.terms):
            return self if self.terms else other
        return self._sum(itertools.chain(self.terms, other.terms))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other._times(-1)

    def _times(self, number: int) -> Polynomial:
        terms = ((product, factor * number) for product, factor in self.terms if number)
        return Polynomial(tuple(terms))

    def __mul__(self, other: Polynomial) -> Polynomial:
        for one, number in ((self, other.number), (other, self.number)):
            if number is not None:
                return one._times(number)
        return self._sum(
            (tuple(sorted((*one, *two), key=_name)), factor * other_factor)
            for (one, factor), (two, other_factor) in itertools.product(self.terms, other.terms)
        )

    @property
    def is_large(self) -> bool:
        """Whether it has more terms, or more in one, than are worth following."""
        return len(self.terms) > _MAX_TERMS or any(
            len(product) > _MAX_FACTORS or abs(factor) > _MAX_NUMBER
            for product, factor in self.terms
        )

    @property
    def number(self) -> int | None:
        """The integer, where it is one known number."""
        if not self.terms:
            return 0
        ((product, factor), *others) = self.terms
        return None if product or others else factor

    @property
    def atoms(self) -> frozenset[Atom]:
        """All that it is made of."""
        return frozenset(atom for product, _ in self.terms for atom in product)

    @property
    def axes(self) -> frozenset[int]:
        """The dimensions along which it varies."""
        return frozenset[int]().union(*map(axes_of, self.atoms))

    def split_constant(self) -> tuple[Polynomial, int]:
        """The sum without its constant, and that."""
        kept = tuple(term for term in self.terms if term[0])
        return Polynomial(kept), sum(factor for product, factor in self.terms if not product)

    def stride(self, axis: int) -> Polynomial | None:
        """From an element to its neighbour along a dimension; None where that is not one number."""
        found = []
        for product, factor in self.terms:
            varying = [atom for atom in product if axes_of(atom)]
            if not any(axis in axes_of(atom) for atom in varying):
                continue
            if varying != [Position(axis)]:
                return None
            found.append((tuple(atom for atom in product if atom not in varying), factor))
        return self._sum(found)

    def on_axes(self, to: Callable[[int], int]) -> Polynomial:
        """The same of a block whose dimension `to(axis)` was `axis`."""

        def moved(atom: Atom) -> Atom:
            if isinstance(atom, Position):
                return Position(to(atom.axis))
            return atom.on_axes(to) if isinstance(atom, Unknown) else atom

        return self._sum(
            (tuple(sorted(map(moved, product), key=_name)), factor)
            for product, factor in self.terms
        )

    def growth(self, of_atom: Callable[[Atom], Polynomial | None]) -> Polynomial | None:
        """How much it grows where each atom grows by what `of_atom` says.

        None where that is not known of an atom, or is not one number: of products of two that grow.
        """
        total = Polynomial()
        for product, factor in self.terms:
            growths = [of_atom(atom) for atom in product]
            known = [growth for growth in growths if growth is not None]
            growing = [place for place, growth in enumerate(known) if growth.terms]
            if len(known) < len(growths) or len(growing) > 1:
                return None
            for place in growing:
                others = (*product[:place], *product[place + 1 :])
                total += Polynomial(((others, factor),)) * known[place]
        return total

    def __str__(self) -> str:
        terms = sorted(self.terms, key=_place_in_text)
        texts = [_text(*term) for term in terms] or ["0"]
        return " + ".join(texts).replace("+ -", "- ")


ZERO, ONE = Polynomial(), Polynomial.of(1)


def _order(term: tuple[_Product, int]) -> tuple[str, ...]:
    return tuple(map(_name, term[0]))


def _place_in_text(term: tuple[_Product, int]) -> tuple[int, ...]:
    """Pointers, scalars, what varies along each dimension, and a constant."""
    product, _ = term
    if any(isinstance(atom, Value) and isinstance(atom.type, PointerType) for atom in product):
        return (0,)
    axes = sorted(axis for atom in product for axis in axes_of(atom))
    return (2, *axes) if axes else (1,) if product else (3,)


def _text(product: _Product, factor: int) -> str:
    names = [_name(atom) for atom in product]
    if not names:
        return str(factor)
    factors = {1: [], -1: []}.get(factor, [str(factor)])
    return ("-" if factor == -1 else "") + "*".join([*factors, *names])

"""How far a loop or the next program moves a block, as code."""

from __future__ import annotations

from triton_rvv.frontend.ttir import Value
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.ttir.access import Access
from triton_rvv.lowering.ttir.polynomials import Extended, Polynomial

__all__ = ["moving", "written"]


def moving(context: Context, addresses: Affine, access: Access | None) -> Affine:
    """Addresses that know how far the loop around them moves them in a turn."""
    advance = None if access is None else written(context, access.moves_by)
    return addresses if advance is None else addresses.moving(advance)


def written(context: Context, distance: Polynomial | None) -> Val | None:
    """A distance in elements, as i64; None where it is not known or 0."""
    if distance is None or not distance.terms:
        return None
    return _sum(context, distance)


def _sum(context: Context, distance: Polynomial) -> Val:
    builder, total = context.builder, integer(0)
    for product, factor in distance.terms:
        term = integer(factor)
        for atom in product:
            if isinstance(atom, Value):
                number = builder.resize(context.scalar(atom), "i64")
            else:
                assert isinstance(atom, Extended)
                number = _sum(context, atom.sum)
            term = builder.mul(number, term)
        total = builder.add(total, term)
    return total

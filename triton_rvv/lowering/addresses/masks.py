"""Masks whose dimensions are conjoined, such as `(rows < m)[:, None] & (columns < n)[None, :]`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.addresses.affine import Affine, View
from triton_rvv.lowering.addresses.lane_range import LaneRange, decided_in_run
from triton_rvv.lowering.blocks.recipes import guards_of_all
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import Extents, LoopVersion, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import no, nothing, rule
from triton_rvv.lowering.llvm.values import FALSE, TRUE, Val, integer

__all__ = ["JointComparison", "Mask", "Term"]


@dataclass(frozen=True)
class Term:
    """A comparison `left predicate right` in which only dimension `axis` of `left` varies.

    Args:
        predicate: LLVM's name, such as "slt".
        left: uniform in every other dimension.
        fits: true at run time where no element of the left side wraps.
    """

    axis: int
    predicate: str
    left: Affine
    right: Val
    fits: Val = FALSE

    @property
    def _constant_stride(self) -> int | None:
        return self.left.components[self.axis].constant_stride

    @property
    def has_guard(self) -> bool:
        """Whether one comparison can speak for all positions: the left side has a direction."""
        return self._constant_stride is not None and self.predicate in _EXTREME

    def guard(self, builder: Builder, count: Val | None = None) -> Val:
        """A scalar that is true where the comparison holds at the first `count` positions, or all.

        A linear left side is largest at one end; only for a term that has a guard. The far end is
        computed with 64 bits: where the kernel's own sum would wrap, the guard is false.
        """
        stride = self._constant_stride
        assert stride is not None
        base, right = (builder.resize(value, "i64") for value in (self.left.base, self.right))
        last = integer(self.left.shape[self.axis] - 1)
        if count is not None:
            last = builder.add(count, integer(-1))
        far = builder.add(base, builder.mul(last, integer(stride)))
        far_decides = (stride > 0) == (_EXTREME[self.predicate] == "largest")
        holds = builder.compare(self.predicate, far if far_decides else base, right)
        if self.left.base.type == "i64":
            ahead = builder.compare("sge" if stride > 0 else "sle", far, base)
            return builder.conjunction(ahead, holds)
        if far_decides:
            return holds
        wrapped = builder.resize(builder.resize(far, self.left.base.type), "i64")
        return builder.conjunction(builder.compare("eq", far, wrapped), holds)

    def _linear_stride(self, builder: Builder) -> int | None:
        """The step of the left side on a linear path, where it is a known number."""
        part = self.left.components[self.axis]
        if self.left.extra is not None or not part.may_be_linear:
            return None
        return part.linear_stride(builder, self.left.index_type).constant

    def bounds(self, builder: Builder, version: LoopVersion) -> LaneRange | None:
        """The columns in which the comparison holds, on a path where sums fit.

        None where they are no neighbours, or that is not known.
        """
        stride = self._linear_stride(builder) if version.linear else self._constant_stride
        is_known = stride in (1, -1) and self.predicate in _EXTREME
        rank = len(self.left.shape)
        if not is_known or not version.fits or not self.may_fit or self.axis < rank - 1:
            return None
        origin = version.origin or integer(0)
        near = self.left.evaluate(
            builder, VectorIndex((integer(0),) * (rank - 1), origin, 1, version)
        )
        near, right = (builder.resize(value, "i64") for value in (near, self.right))
        ends = (near, right) if stride == -1 else (right, near)
        bound = builder.add(origin, builder.binary("sub", *ends))
        if self.predicate in (("slt", "sge") if stride == -1 else ("sle", "sgt")):
            bound = builder.add(bound, integer(1))
        is_end = (_EXTREME[self.predicate] == "largest") == (stride == 1)
        return LaneRange(end=bound) if is_end else LaneRange(first=bound)

    def is_uniform_on(self, builder: Builder, version: LoopVersion) -> bool:
        """Whether the comparison is the same in all columns on a path."""
        is_last = self.axis == len(self.left.shape) - 1
        return not is_last or (version.linear and self._linear_stride(builder) == 0)

    def is_known_on(self, builder: Builder, version: LoopVersion) -> bool:
        """Whether the comparison is known to hold wherever a path leads."""
        if version.unmasked and self.has_guard:
            return True
        if version.rows_inside and self.is_uniform_on(builder, version):
            return True
        return version.columns_inside and self.bounds(builder, version) is not None

    def false_from(self, builder: Builder) -> Val | None:
        """A position from which on the comparison is false, as i64, where it has one.

        Where the left side wraps, that is the end of the dimension.
        """
        if self._constant_stride != 1 or self.predicate not in ("slt", "sle"):
            return None
        size = integer(self.left.shape[self.axis])
        base, right = (builder.resize(value, "i64") for value in (self.left.base, self.right))
        limit = {"i32": (1 << 31) - 1}.get(self.left.base.type, (1 << 63) - 1)
        wraps = builder.compare("sgt", base, integer(limit - self.left.shape[self.axis]))
        count = builder.intrinsic("llvm.ssub.sat", [right, base])
        if self.predicate == "sle":
            count = builder.intrinsic("llvm.sadd.sat", [count, integer(1)])
        count = builder.smax(count, integer(0))
        end = builder.select(wraps, size, builder.smin(count, size))
        widened = self.left.wrapped
        return end if widened is None else builder.select(widened.fits, end, size)

    @property
    def may_fit(self) -> bool:
        """Whether it is known at run time if the left side wraps."""
        return self.fits.truth is not False

    def fit_guards(self) -> list[Val]:
        """Truth values that, where all of them hold, put a point on a path where sums fit."""
        own = [self.fits] if self.may_fit else []
        return [*self.left.fit_guards(), *own]

    def _is_uniform(self, builder: Builder) -> bool:
        """Whether the left side is one number where its steps are linear, such as one row's."""
        stride = self.left.last_stride(builder, linear=True)
        return stride is not None and stride.constant == 0

    def at(self, builder: Builder, point: VectorIndex) -> Val:
        """The comparison at `point`; a scalar unless the last dimension varies."""
        shape = self.left.shape
        if self.axis < len(shape) - 1 and point.width <= shape[-1]:
            point = VectorIndex(point.index, integer(0), 1, point.version)
        elif point.version.linear and len(shape) == 1 and self._is_uniform(builder):
            point = replace(point, width=1, memo={})
        value = self.left.evaluate(builder, point)
        return builder.compare(self.predicate, value, builder.splat(self.right, point.width))


# Which end of the left side decides for all of them; unsigned comparisons could wrap in between.
_EXTREME = {"slt": "largest", "sle": "largest", "sgt": "smallest", "sge": "smallest"}


class JointComparison(Tensor):
    """A comparison `left predicate right` in which several dimensions of `left` rise evenly.

    So it is in `rows[:, None] * size + columns[None, :] < count`. Where the last element is below,
    all of them are.

    Args:
        predicate: one of `PREDICATES`.
        left: integers whose components have constant strides, none of them negative.
    """

    own_spans_rows = True
    own_stays_in_place = True

    PREDICATES = ("slt", "sle")

    def __init__(self, type_: TensorType, predicate: str, left: Affine, right: Val) -> None:
        super().__init__(type_, [left], cost=1)
        self._predicate = predicate
        self._left = left
        self._right = right

    @staticmethod
    @rule("compare-jointly", no)
    def is_one(builder: Builder, predicate: str, left: Affine) -> bool:
        """Whether a comparison of such integers with a scalar is one."""
        strides = [0 if part.is_zero else part.constant_stride for part in left.components]
        rises = all(stride is not None and stride >= 0 for stride in strides)
        return predicate in JointComparison.PREDICATES and rises and left.extra is None

    def own_mask_guards(self, builder: Builder) -> list[Val]:
        """One that speaks for all elements: of the last, computed with 64 bits."""
        base, right = (builder.resize(value, "i64") for value in (self._left.base, self._right))
        parts = zip(self._left.components, self.shape, strict=True)
        reach = sum((part.constant_stride or 0) * (size - 1) for part, size in parts)
        last = builder.add(base, integer(reach))
        holds = builder.compare(self._predicate, last, right)
        if self._left.base.type != "i64":
            return [holds]
        return [builder.conjunction(builder.compare("sge", last, base), holds)]

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        right = builder.splat(self._right, point.width)
        return builder.compare(self._predicate, self._left.at(builder, point), right)


@rule("count-lanes", nothing)
def _neighbours(builder: Builder, term: Term, point: VectorIndex) -> LaneRange | None:
    """The lanes of a run in which a comparison holds, where they are neighbours."""
    in_row = 1 < point.width <= term.left.shape[-1]
    if not in_row or not builder.abilities.has_vector_lengths:
        return None
    bounds = term.bounds(builder, point.version)
    return None if bounds is None else bounds.from_place(builder, point.start)


class Mask(Tensor):
    """A conjunction of one-dimensional comparisons and of any other truth values.

    Args:
        uniform: a truth value for all elements, such as whether a block's only row exists.
    """

    own_stays_in_place = True

    def __init__(
        self,
        type_: TensorType,
        terms: Sequence[Term],
        others: Sequence[Tensor],
        uniform: Val = TRUE,
    ) -> None:
        super().__init__(type_, others, cost=1)
        self.terms = tuple(terms)
        self.uniform = uniform

    @property
    def own_spans_rows(self) -> bool:
        return all(term.left.own_spans_rows for term in self.terms)

    @property
    def is_guarded(self) -> bool:
        """Whether it is true everywhere on a path where its guards hold."""
        return not self.operands and all(term.has_guard for term in self.terms)

    def is_one_number(self, version: LoopVersion) -> bool:
        return self.materialised is None and version.unmasked and self.is_guarded

    def rearranged(self, shape: tuple[int, ...], axes: Sequence[int | None], view: View) -> Mask:
        """The same as `Affine.rearranged`."""
        terms = [
            replace(term, axis=axes.index(term.axis), left=term.left.rearranged(shape, axes, view))
            for term in self.terms
        ]
        type_ = TensorType(shape, self.element)
        return Mask(type_, terms, [*map(view, self.operands)], self.uniform)

    def own_linear_guards(self) -> list[Val]:
        return [guard for term in self.terms for guard in term.left.linear_guards()]

    def own_fit_guards(self) -> list[Val]:
        return [guard for term in self.terms for guard in term.fit_guards()]

    def own_mask_guards(self, builder: Builder) -> list[Val]:
        guards = [term.guard(builder) for term in self.terms if term.has_guard]
        return guards if self.uniform == TRUE else [self.uniform, *guards]

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        guards = guards_of_all(builder, [*self.operands, *self._lefts], extents)
        if guards is None:
            return None
        guards += [term.fits for term in self.terms if term.may_fit]
        terms = [term for term in self.terms if term.has_guard]
        guards += [term.guard(builder, extents[term.axis]) for term in terms]
        return guards if self.uniform == TRUE else [self.uniform, *guards]

    @property
    def _lefts(self) -> list[Tensor]:
        return [term.left for term in self.terms]

    def holds_along(self, builder: Builder, axis: int) -> bool:
        """Whether sizes and grid say that no position along an axis is false."""
        terms = [term for term in self.terms if term.axis == axis]
        return all(term.has_guard and term.guard(builder).truth is True for term in terms)

    def false_from(self, builder: Builder, axis: int) -> Val | None:
        """A position along an axis from which on no element is true, as i64, if one is known."""
        terms = [term.false_from(builder) for term in self.terms if term.axis == axis]
        known = [position for position in terms if position is not None]
        if not known:
            return None
        return builder.smin(*known)

    def columns(self, builder: Builder) -> LaneRange:
        """The columns outside of which no element is true, where sums fit."""
        bounds = [term.bounds(builder, LoopVersion(fits=True)) for term in self.terms]
        known = [each for each in bounds if each is not None]
        return functools.reduce(lambda all_, own: all_.within(builder, own), known, LaneRange())

    def own_buffers(self) -> frozenset[str]:
        return frozenset().union(*(term.left.buffers() for term in self.terms))

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        return builder.splat(self._computed(builder, point), point.width)

    def condition(self, builder: Builder, point: VectorIndex) -> Val:
        """The mask at `point`; a scalar where it is the same for the whole run.

        On an unmasked path what has a guard is known to hold.
        """
        condition, lanes = self.parts(builder, point)
        return lanes.where(builder, condition, point.width)

    def _computed(self, builder: Builder, point: VectorIndex) -> Val:
        condition, lanes = self._parts(builder, point)
        return lanes.where(builder, condition, point.width)

    def parts(self, builder: Builder, point: VectorIndex) -> tuple[Val, LaneRange]:
        """The mask at `point` as a condition, and the lanes of the run in which that counts."""
        is_kept = self.materialised is not None or self.filling is not None
        return (self.at(builder, point), LaneRange()) if is_kept else self._parts(builder, point)

    def _parts(self, builder: Builder, point: VectorIndex) -> tuple[Val, LaneRange]:
        version = point.version
        total = TRUE if version.unmasked or version.rows_inside else self.uniform
        lanes = LaneRange()
        for term in self.terms:
            if term.is_known_on(builder, version):
                continue
            holds = decided_in_run(builder, term.predicate, term.left, term.right, point)
            if holds is not None:
                total = builder.conjunction(total, holds)
            elif (own := _neighbours(builder, term, point)) is not None:
                lanes = lanes.within(builder, own)
            else:
                total = builder.conjunction(total, term.at(builder, point))
        for other in self.operands:
            if version.unmasked and isinstance(other, JointComparison):
                continue
            total = builder.conjunction(total, other.at(builder, point))
        return total, lanes

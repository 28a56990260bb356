"""What a load gives: contiguous runs, streams, gathers and scalars, under masks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from triton_rvv.frontend.ttir import Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.addresses.memory_overlap import (
    UNKNOWN,
    are_apart,
    keeps_apart,
    lanes_are_apart,
)
from triton_rvv.lowering.blocks.buffer import loaded, memory_type, stored
from triton_rvv.lowering.blocks.recipes import Splat, guards_of_all
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, Extents, VectorIndex
from triton_rvv.lowering.llvm.builder import READ, Builder
from triton_rvv.lowering.llvm.values import FALSE, ZEROS, Val, integer, vector_type
from triton_rvv.lowering.llvm.vectors import transposed
from triton_rvv.lowering.llvm.vp_memory import (
    first_lanes,
    load_first,
    load_first_by_stride,
    masked_gather,
    masked_load,
)
from triton_rvv.lowering.memory.accesses import (
    condition_at,
    first_where,
    load_scalar,
    note_access,
    zero,
)
from triton_rvv.lowering.memory.every_other import EveryOther, every_other_run
from triton_rvv.lowering.memory.periodic_loads import periodic_run
from triton_rvv.lowering.memory.prefetches import (
    RowHints,
    prefetch_ahead,
    prefetch_columns_ahead,
    row_in_set,
    run_address,
)
from triton_rvv.lowering.memory.reversed_runs import reversed_run
from triton_rvv.lowering.memory.segment_loads import SegmentLoad, segment_run
from triton_rvv.lowering.memory.small_tables import SmallTable
from triton_rvv.lowering.ttir.access import SharedRows

__all__ = ["Load"]


class Load(Tensor):
    """The elements at a block of addresses; `other` (or 0) where the mask is false.

    It is put off until something asks, and has to be carried out before memory changes.

    Attributes:
        hints: what is asked for beside each run.
        rows: the loads with which it shares rows, where code may rely on that.
        every_other: the lanes that its mask lets through at most, where these are neighbours.
        table: what it gathers from, where registers hold that.
    """

    own_stays_in_place = True

    def __init__(
        self,
        type_: TensorType,
        pointers: Affine,
        mask: Mask | None,
        other: Tensor | None,
        source: Value,
        table: SmallTable | None = None,
    ) -> None:
        optional = [tensor for tensor in (mask, other) if tensor is not None]
        places = pointers if table is None else table.places
        super().__init__(type_, [places, *optional], cost=1)
        self.source = source
        self.pointers = pointers
        self.mask = mask
        self.other = other
        self.is_denser_by_column = False
        self._is_run_of_list = False
        self.streams: SegmentLoad | None = None
        self.place = 0
        self.hints = RowHints()
        self.rows: SharedRows | None = None
        self.every_other: EveryOther | None = None
        self.table = table

    @property
    def lies_by_column(self) -> bool:
        if self.materialised is not None or len(self.shape) < 2:
            return False
        above, last = self.pointers.components[-2:]
        strides = [part.stride for part in (above, last)]
        down, along = (stride is not None and stride.constant == 1 for stride in strides)
        is_listed = bool(last.listed) or (bool(above.listed) and last.has_rule)
        is_by_column = down or is_listed or self.is_denser_by_column
        return is_by_column and not (along and last.has_rule)

    def is_each_element_of(self, addresses: Affine) -> bool:
        """Whether every element is loaded from an address of its own, the one in `addresses`."""
        return self.pointers.base == addresses.base and self.is_parallel_to(addresses)

    def is_parallel_to(self, addresses: Affine) -> bool:
        """Whether elements are as far from one another as those in `addresses`, and none shared.

        Strides that are only known at run time are taken to keep the elements apart;
        `lanes_are_apart` tells then.
        """
        own, other = self.pointers, addresses
        is_alike = (own.shape, own.components) == (other.shape, other.components)
        is_alike = is_alike and own.pointee.size_bytes == other.pointee.size_bytes
        return is_alike and own.extra is None and other.extra is None and keeps_apart(own)

    def survives_store(
        self, builder: Builder, addresses: Affine, where: Mask | None, on_the_way: bool
    ) -> Val:
        """Whether, at run time, a store to `addresses` changes no element before it is loaded.

        Args:
            addresses: where the store goes.
            where: the mask of what is stored.
            on_the_way: whether each element is loaded right before its place is stored to.
        """
        apart = are_apart(builder, (self.pointers, self.mask), (addresses, where))
        if not on_the_way or not self.is_parallel_to(addresses):
            return apart
        same = builder.compare("eq", self.pointers.base, addresses.base)
        same = builder.conjunction(same, lanes_are_apart(builder, addresses))
        return same if apart == UNKNOWN else builder.binary("or", apart, same)

    def guards_in_place(self, builder: Builder, extents: Extents) -> list[Val]:
        """Truth values under which rows can be read where they lie: all there, and contiguous.

        Of the block only the leading part is looked at that `extents` says.
        """
        contiguous = self.pointers.last_stride(builder, linear=True)
        guards = self.guards_within(builder, extents)
        is_plain = guards is not None and self._is_plain_when_guarded
        has_stride = self.pointers.components[-2].may_be_linear
        if contiguous is None or contiguous.constant != 1 or not (is_plain and has_stride):
            return [FALSE]
        assert guards is not None
        return guards

    def rows_are_apart(self, builder: Builder, conflict_bytes: int) -> Val:
        """Whether rows do not lie at multiples of `conflict_bytes`, where they would miss."""
        in_set = row_in_set(builder, self.pointers, conflict_bytes)
        return builder.compare("ne", in_set, integer(0))

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        return guards_of_all(builder, self._recipe[0], extents)

    def zero_from(self, builder: Builder, axis: int) -> Val | None:
        if self.mask is None or not self.fills_with_zeros:
            return None
        return self.mask.false_from(builder, axis)

    @property
    def fills_with_zeros(self) -> bool:
        """Whether elements that a mask leaves out are 0."""
        other = self.other
        return other is None or (isinstance(other, Splat) and other.value.ref in ZEROS)

    @property
    def _is_plain_when_guarded(self) -> bool:
        return self.mask is None or (
            not self.mask.operands and all(term.has_guard for term in self.mask.terms)
        )

    def rows_in_place(self, builder: Builder, first: Val) -> tuple[Val, Val]:
        """The address of a row, and how far the next one is, where the guards in place hold."""
        pointers = self.pointers.on(PLAIN_VERSION)
        start = pointers.row_base(builder, VectorIndex((first,), integer(0), 1, PLAIN_VERSION))
        stride = self.pointers.components[-2].linear_stride(builder, self.pointers.index_type)
        return start, stride

    @property
    def own_reads_again(self) -> bool:
        last = self.pointers.components[-1]
        is_contiguous = last.stride is not None and last.stride.constant == 1 and last.has_rule
        return is_contiguous and self.pointers.extra is None

    @property
    def is_by_column(self) -> bool:
        if len(self.shape) < 2 or self.element.bits == 1 or not self._is_plain_when_guarded:
            return False
        above, last = self.pointers.components[-2:]
        strides = [part.stride.constant if part.stride is not None else 0 for part in (above, last)]
        has_rules = above.has_rule and last.has_rule and self.pointers.extra is None
        return has_rules and strides[0] == 1 and strides[1] not in (0, 1)

    def square_at(self, builder: Builder, points: Sequence[VectorIndex]) -> list[Val]:
        pointers, first = self.pointers.on(PLAIN_VERSION), points[0]
        stride = pointers.components[-1].linear_stride(builder, pointers.index_type)
        start = pointers.at(builder, replace(first, width=1, memo={}))
        type_ = vector_type(memory_type(self.element), len(points))
        columns = []
        for column in range(first.width):
            distance = builder.mul(integer(column, stride.type), stride)
            address = builder.element_pointer(memory_type(self.element), start, distance)
            columns.append(builder.load(type_, address, self.element.size_bytes))
        return [loaded(builder, row, self.element) for row in transposed(builder, columns)]

    @property
    def own_mask(self) -> Mask | None:
        return None if self.materialised is not None else self.mask

    @property
    def own_shares_rows(self) -> bool:
        return self.rows is not None and self.materialised is None

    def own_fit_guards(self) -> list[Val]:
        kept = [each for each in (self.every_other, self.table) if each is not None]
        return [each.fits for each in kept]

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        condition = condition_at(builder, self.mask, point)
        alone = functools.partial(self._evaluate_alone, builder, point, condition)
        if self.rows is None or not point.version.fits or point.rows_together == 1:
            return alone()
        place = (self.rows.below + point.row, point.start, point.width, point.lanes)
        masked = None if condition.truth is True else self.rows.conditions
        return builder.shared((self.rows.first, *place, masked), alone)

    def _evaluate_alone(self, builder: Builder, point: VectorIndex, condition: Val) -> Val:
        pointers = self.pointers.on(point.version).in_run(builder, point)
        stride = pointers.last_stride(builder, point.version.linear)
        note_access(builder, "loads", stride, condition, point, self.source.name)
        if condition.truth is False:
            value = self._fill(builder, point)
        elif point.width == 1:
            address = self.pointers.at(builder, point)
            value = self._scalar(builder, address, condition, point)
        elif stride is not None and stride.constant == 1:
            value = self._run(builder, pointers, condition, point)
        elif stride is not None and stride.constant == 0 and condition.width == 1:
            value = self._repeated(builder, pointers, condition, point)
        elif (run := self._run_by_lines(builder, pointers, condition, point)) is not None:
            value = run
        else:
            addresses, fill = self.pointers.at(builder, point), self._fill(builder, point)
            wanted = first_where(builder, condition, point.lanes, point.width)
            mask = builder.splat(wanted, point.width)
            value = masked_gather(builder, addresses, mask, fill, self.element.size_bytes)
            if condition.truth is True:
                prefetch_columns_ahead(builder, pointers, point)
        return loaded(builder, value, self.element)

    def _run(self, builder: Builder, pointers: Affine, condition: Val, point: VectorIndex) -> Val:
        """Neighbours in memory."""
        type_ = vector_type(memory_type(self.element), point.width)
        lanes, size_bytes = point.lanes, self.element.size_bytes
        row = run_address(builder, pointers, point)
        self.hints.ask(builder, self, row, point)
        if condition.truth is True and lanes is not None:
            fill = self._fill(builder, point)
            value = load_first(builder, row, lanes, fill, size_bytes, point.clears)
            if point.clears:  # the ends of all rows of a copy, one after another
                prefetch_ahead(builder, pointers, point, row, READ)
            return value
        if condition.truth is True:
            value = builder.load(type_, row, size_bytes)
            aligned = not self._is_run_of_list
            prefetch_ahead(builder, pointers, point, row, READ, aligned)
        elif condition.width == 1 and lanes is None and self._has_listed_rows:
            zeros = builder.zeros(type_)
            value = builder.load(type_, builder.select(condition, row, zeros), size_bytes)
            prefetch_ahead(builder, pointers, point, row, READ)
        else:
            wanted = first_where(builder, condition, lanes, point.width)
            mask, fill = builder.splat(wanted, point.width), self._fill(builder, point)
            value = masked_load(builder, row, mask, fill, size_bytes)
            if self._is_run_of_list and pointers.components[-2].may_be_linear:
                prefetch_ahead(builder, pointers, point, row, READ, is_aligned=False)
            elif lanes is None and pointers.advance is not None:
                prefetch_ahead(builder, pointers, point, row, READ)
        return value

    @property
    def _has_listed_rows(self) -> bool:
        """Whether rows left out are best read from zeros; of rows by a rule, masks take less."""
        above = self.pointers.components[-2:][0]
        return self.fills_with_zeros and bool(above.listed)

    def with_runs(self, pointers: Affine, mask: Mask | None) -> Load:
        """The same load where a list says that the addresses of a run follow one another."""
        load = Load(self.type, pointers, mask, self.other, self.source)
        load._is_run_of_list = True
        return load

    def _repeated(
        self, builder: Builder, pointers: Affine, condition: Val, point: VectorIndex
    ) -> Val:
        """One element in all lanes that are wanted."""
        address = pointers.row_base(builder, point)
        if point.lanes is None:
            return builder.splat(self._scalar(builder, address, condition, point), point.width)
        wanted = builder.conjunction(condition, builder.compare("sgt", point.lanes, integer(0)))
        value = builder.splat(self._scalar(builder, address, wanted, point), point.width)
        mask = first_lanes(builder, point.lanes, point.width)
        return builder.select(mask, value, self._fill(builder, point))

    def _run_by_lines(
        self, builder: Builder, pointers: Affine, condition: Val, point: VectorIndex
    ) -> Val | None:
        """A run that is loaded from pieces of memory, where it can be."""
        fill = functools.partial(self._fill, builder, point)
        if self.table is not None:
            run = self.table.run(builder, condition, point, fill)
            if run is not None:
                return run
        if condition.truth is not True:
            run = every_other_run(builder, self.every_other, self.pointers, condition, point)
            return run or reversed_run(builder, pointers, self.mask, point, fill)
        if (run := periodic_run(builder, pointers, point)) is not None:
            return run
        if self.streams is not None and pointers.extra is None:
            ask = functools.partial(self.hints.ask, builder, self)
            return segment_run(builder, self.streams, pointers, self.place, point, ask)
        stride = pointers.last_stride(builder, point.version.linear)
        if stride is not None and point.lanes is not None and not point.clears:
            return self._first_by_stride(builder, pointers, stride, point, point.lanes)
        return reversed_run(builder, pointers, self.mask, point, fill)

    def _first_by_stride(
        self, builder: Builder, pointers: Affine, stride: Val, point: VectorIndex, lanes: Val
    ) -> Val | None:
        """The lanes that are wanted of a run by one stride, where a load can be told how many."""
        element, size_bytes = memory_type(self.element), self.element.size_bytes
        if element == "ptr" or not builder.abilities.has_vector_lengths:
            return None
        start = pointers.at(builder, replace(point, width=1, memo={}))
        distance_bytes = builder.mul(builder.resize(stride, "i64"), integer(size_bytes))
        type_ = vector_type(element, point.width)
        return load_first_by_stride(builder, type_, start, distance_bytes, lanes, size_bytes)

    def _scalar(self, builder: Builder, address: Val, condition: Val, point: VectorIndex) -> Val:
        one = VectorIndex(point.index, point.start, 1, point.version, point.memo)
        return load_scalar(builder, self.element, address, condition, self._fill(builder, one))

    def _fill(self, builder: Builder, point: VectorIndex) -> Val:
        """What a lane holds that is not loaded; without `other` Triton leaves it undefined."""
        if self.other is None:
            element = memory_type(self.element)
            return builder.splat(Val(element, zero(element)), point.width)
        return stored(builder, self.other.at(builder, point))

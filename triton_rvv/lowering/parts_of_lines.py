"""Walks over a line in parts, each of which may be linear where the line is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from triton_rvv.lowering.affine import Affine
from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.masks import Mask
from triton_rvv.lowering.steps import Steps
from triton_rvv.lowering.tensors import Point, Tensor
from triton_rvv.lowering.values import Val, integer

__all__ = ["PartsOfLine"]


class PartsOfLine:
    """How the recipes of a walk over a line are linear in parts.

    Args:
        builder: writes the code.
        tensors: the recipes, all of one shape.

    Attributes:
        found: the steps that decide whether a part is linear; none where others decide as well.
    """

    def __init__(self, builder: Builder, tensors: Sequence[Tensor]) -> None:
        below = dict.fromkeys(each for root in tensors for each in root.walk())
        is_known = len(tensors[0].shape) == 1 and all(each.own_stays_in_place for each in below)
        lines = [each for each in below if isinstance(each, Affine)]
        lines += [term.left for each in below if isinstance(each, Mask) for term in each.terms]
        tables = dict.fromkeys(
            table for line in lines for part in line.components for table, _ in part.tables
        )
        steps = [table for table in tables if isinstance(table, Steps)]
        self.found = steps if is_known and len(steps) == len(tables) else []
        self._granule = min((each.granule for each in self.found if each.granule > 1), default=0)

    def visit(
        self, builder: Builder, points: Sequence[Point], visit: Callable[[Sequence[Point]], None]
    ) -> None:
        """Visit runs that follow one another, on a linear path where they are linear."""
        width = points[0].width
        together = len(points)
        if self._granule:
            together = min(together, max(self._granule // width, 1))
        for at in range(0, len(points), together):
            self._visit_part(builder, points[at : at + together], visit)

    def _visit_part(
        self, builder: Builder, points: Sequence[Point], visit: Callable[[Sequence[Point]], None]
    ) -> None:
        first, count = points[0].start, len(points) * points[0].width
        starts: dict[object, Val] = {}
        is_linear = Val("i1", "true")
        for steps in self.found:
            linear, starts[steps] = steps.linear_from(builder, first, count)
            is_linear = builder.conjunction(is_linear, linear)

        def visit_linear() -> None:
            path = replace(points[0].path, linear=True, starts=starts)
            visit([replace(point, path=path, memo={}) for point in points])

        def visit_others() -> None:
            if len(points) == 1:
                visit([replace(points[0], memo={})])
                return
            width = points[0].width
            with builder.loop(integer(0), integer(count), integer(width)) as position:
                run = replace(points[0], start=builder.add(first, position), memo={})
                self._visit_part(builder, [run], visit)

        builder.branches(is_linear, visit_linear, visit_others, likely=True)

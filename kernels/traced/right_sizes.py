"""For which sizes a configuration is right, found by running it at drawn sizes on this machine.

A block may have to cover a row, a kernel without masks needs whole blocks, and a file says neither.
So outputs are compared with the file's `reference` beyond every block, at sizes that no block
divides, and at 1. Where they are wrong, limits are tried, and run on both of their sides.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from foundation.c_expressions import Operand, compared, remainder
from foundation.errors import UserError
from foundation.shapes import shape_text
from kernels.own.expected import expected_outputs
from kernels.own.held_already import first_wrong, holds
from kernels.own.launch import Launch
from kernels.own.reference_runs import RunFailed, checked_runs
from triton_rvv.errors import OutOfBoundsError

__all__ = ["Limit", "RightSizes", "limits_of"]

_SEED = 20261127
_MOST_ELEMENTS = 1 << 22  # of all tensors of a drawn run
_MOST_TRIED = 256  # shapes, of which the first is taken that may be run
_LARGEST = 1 << 20  # of a drawn size

Shape = Mapping[str, int]


@dataclass(frozen=True)
class Limit:
    """What has to hold of one size.

    Args:
        size: its name.
        kind: "at most", "a multiple of" or "equal to".
        value: the largest size, its divisor, or the size itself.
    """

    size: str
    kind: str
    value: int

    def holds(self, sizes: Mapping[str, Operand]) -> Operand:
        """Whether it does, 1 or 0; an expression of C if the sizes are."""
        size = sizes[self.size]
        if self.kind == "at most":
            return compared(size, "<=", self.value)
        if self.kind == "equal to":
            return compared(size, "==", self.value)
        return compared(remainder(size, self.value), "==", 0)


@dataclass(frozen=True)
class RightSizes:
    """For which sizes a configuration is right.

    Args:
        limits: what has to hold of them; None if it is wrong at the tuned ones.
        why: the first sizes at which it was not right, and what happened there, or else why no
            others were run; "" without limits.
    """

    limits: tuple[Limit, ...] | None
    why: str = ""


def limits_of(
    launch_at: Callable[[Shape], Launch],
    tuned: Shape,
    blocks: Sequence[int],
    allowed: Callable[[Shape], bool],
    elements: Callable[[Shape], int],
) -> RightSizes:
    """What has to hold of sizes for a configuration to be right.

    Args:
        launch_at: the configuration at a shape.
        tuned: a shape for which it is right.
        blocks: the integers among its constants.
        allowed: whether a shape is one for which the code is made.
        elements: of all tensors at a shape, without making them.

    Returns:
        Limits that held in every run; if no others did, every size is that of `tuned`. So it is
        without a reference, as the kernel in its place might be as wrong, and where the kernel
        cannot be run on this machine.
    """
    exact = tuple(Limit(name, "equal to", size) for name, size in tuned.items())
    runner = _Runner(launch_at, allowed, elements)
    if launch_at(tuned).file.optional("reference") is None:
        return RightSizes(exact, "the file has no reference")
    if not runner.fits(tuned):
        return RightSizes(exact, "the tuned sizes are too large to be run on this machine")
    draws = _Draws(tuned, blocks, runner.fits, allowed)
    drawn = draws.together(())
    if runner.is_right([tuned, *drawn]):
        reached = draws.reached(drawn)
        return RightSizes(reached, "no larger sizes were run" if reached else "")
    if not runner.is_right([tuned]):
        return RightSizes(exact if runner.failed else None, runner.why)
    limits = tuple(filter(None, (draws.limit(name, runner) for name in tuned)))
    drawn = draws.together(limits)
    found = (*limits, *draws.reached(drawn, limits)) if runner.is_right(drawn) else exact
    return RightSizes(found, runner.why if found else "")


class _Runner:
    """Runs a configuration at shapes, and compares what it leaves with the reference."""

    def __init__(
        self,
        launch_at: Callable[[Shape], Launch],
        allowed: Callable[[Shape], bool],
        elements: Callable[[Shape], int],
    ) -> None:
        self._launch_at = launch_at
        self._allowed = allowed
        self._elements = elements
        self._found: dict[frozenset[tuple[str, int]], bool] = {}  # right or wrong, by shape
        self.failed = False  # the last run, which left nothing to compare
        self.why = ""  # the first shape that was not right, and what happened

    def fits(self, shape: Shape) -> bool:
        """Whether the code is made for a shape, and a run of it is short."""
        if not self._allowed(shape) or self._elements(shape) > _MOST_ELEMENTS:
            return False
        try:
            launch = self._launch_at(shape)
            launch.grid(launch.values())
        except UserError:  # such as sizes that have to divide each other
            return False
        return True

    def is_right(self, shapes: Sequence[Shape]) -> bool:
        """Whether it is at all of them; each shape runs once."""
        self.failed = False
        new = [shape for shape in shapes if frozenset(shape.items()) not in self._found]
        if all(self._found.get(frozenset(shape.items()), True) for shape in shapes):
            self._run(new)
        return all(self._found.get(frozenset(shape.items()), False) for shape in shapes)

    def _run(self, shapes: Sequence[Shape]) -> None:
        """Note of each shape whether it is right, unless one of them fails."""
        launches = [self._launch_at(shape) for shape in shapes]
        try:
            expected = [expected_outputs(launch, with_unnamed=False) for launch in launches]
            found = checked_runs(launches) if launches else []
        except (RunFailed, UserError) as failure:
            self._explain(shapes, failure)
            self.failed = True
            return
        for shape, outputs, after in zip(shapes, expected, found, strict=True):
            wrong = [name for name, output in outputs.items() if not holds(after[name], output)]
            self._found[frozenset(shape.items())] = not wrong
            if wrong and not self.why:
                element = first_wrong(wrong[0], after[wrong[0]], outputs[wrong[0]])
                self.why = f"wrong at {shape_text(shape)}: {element}"

    def _explain(self, shapes: Sequence[Shape], failure: Exception) -> None:
        """Find which of several shapes fails first, unless it is known why there are limits."""
        alone = iter(shapes if len(shapes) > 1 else ())
        while not self.why and (shape := next(alone, None)):
            self._run([shape])
        if not self.why:
            where = shape_text(shapes[0]) if len(shapes) == 1 else "sizes that were drawn"
            astray = str(failure).partition(f"{OutOfBoundsError.__name__}: ")[2]
            if isinstance(failure, UserError):
                self.why = f"reference refuses {where}: {failure}"
            else:
                how = "out of bounds" if astray else "failed"
                self.why = f"{how} at {where}: {astray or failure}"


class _Draws:
    """Shapes that tell for which sizes a configuration is right.

    Args:
        tuned, blocks: as of `limits_of`.
        fits: whether a shape may be run.
        allowed: as of `limits_of`.
    """

    def __init__(
        self,
        tuned: Shape,
        blocks: Sequence[int],
        fits: Callable[[Shape], bool],
        allowed: Callable[[Shape], bool],
    ) -> None:
        self._tuned = tuned
        self._blocks = sorted({block for block in blocks if 1 < block <= _LARGEST})
        self._fits = fits
        self._random = random.Random(_SEED)
        self._ends = {name: self._found_ends(name, allowed) for name in tuned}

    def _found_ends(self, name: str, allowed: Callable[[Shape], bool]) -> tuple[int, int]:
        """The least and the largest size around the tuned one for which the code is made, while the
        other sizes are the tuned ones."""
        ends = []
        for outermost in (1, self._beyond()):
            near, far = self._tuned[name], outermost
            while abs(far - near) > 1:
                middle = (near + far) // 2
                if allowed({**self._tuned, name: middle}):
                    near = middle
                else:
                    far = middle
            ends.append(far if allowed({**self._tuned, name: far}) else near)
        return ends[0], ends[1]

    def together(self, limits: Sequence[Limit]) -> list[Shape]:
        """Shapes in which all sizes differ from the tuned ones, within limits: each size beyond all
        blocks, while the others are small and while they are too, and 1; all beyond a block."""
        drawn: list[dict[str, int]] = [{name: self._middle() for name in self._tuned}]
        for name in self._tuned:
            others = [n for n in self._tuned if n != name]
            drawn.append({name: self._beyond(), **{n: self._small() for n in others}})
            drawn.append({name: self._beyond(), **{n: self._beyond() + 2 for n in others}})
            drawn.append({name: 1, **{n: self._middle() for n in others}})
        shapes = (self._within(shape, limits) for shape in drawn)
        return [dict(shape) for shape in dict.fromkeys(tuple(s.items()) for s in shapes if s)]

    def limit(self, name: str, runner: _Runner) -> Limit | None:
        """The widest limit of one size under which the configuration is right; None for none."""
        most = [Limit(name, "at most", b) for b in reversed(self._reaches())]
        several = [Limit(name, "a multiple of", b) for b in self._blocks]
        for limit in (None, *several, *most):
            shapes = self._of_one(name, limit)
            if len(shapes) > 1 and runner.is_right(shapes):
                return limit
        return Limit(name, "equal to", self._tuned[name])

    def _of_one(self, name: str, limit: Limit | None) -> list[Shape]:
        """Shapes in which one size differs from the tuned ones."""
        ends = (*self._edges(name, up=True), *self._edges(name, up=False))
        drawn = (self._beyond(), self._middle(), self._small(), 1, *ends)
        sizes = dict.fromkeys(self._limited(size, limit) for size in drawn)
        # A size may have to be no larger than others, such as the distance of rows.
        larger = dict.fromkeys(self._tuned, self._beyond() + 2)
        shapes = ([{**others, name: size} for others in (self._tuned, larger)] for size in sizes)
        fitting = (next(filter(self._fits, both), None) for both in shapes)
        return [shape for shape in fitting if shape is not None]

    def reached(self, shapes: Sequence[Shape], limits: Sequence[Limit] = ()) -> tuple[Limit, ...]:
        """That sizes without limits are at most the largest ones of some shapes, where none of
        those is beyond all blocks."""
        limited = {limit.size for limit in limits}
        most = {n: max(shape[n] for shape in (*shapes, self._tuned)) for n in self._tuned}
        return tuple(
            Limit(name, "at most", size)
            for name, size in most.items()
            if name not in limited and size < self._beyond()
        )

    def _within(self, shape: Shape, limits: Sequence[Limit]) -> Shape | None:
        """The shape within limits, or the first near it for which the code is made."""
        of_size = {limit.size: limit for limit in limits}
        options = []
        for name, size in shape.items():
            near = self._edges(name, up=size > self._tuned[name])
            limited = [self._limited(each, of_size.get(name)) for each in (size, *near)]
            options.append(dict.fromkeys((*limited, self._tuned[name])))
        for sizes in itertools.islice(itertools.product(*options), _MOST_TRIED):
            tried = dict(zip(shape, sizes, strict=True))
            if self._fits(tried):
                return {name: tried[name] for name in self._tuned}
        return None

    def _edges(self, name: str, *, up: bool) -> tuple[int, ...]:
        """Sizes at the ends of those for which the code is made, from above or from below."""
        least, largest = self._ends[name]
        return (largest, max(largest - 1, 1)) if up else (least, least + 1)

    def _limited(self, size: int, limit: Limit | None) -> int:
        if limit is None:
            return size
        if limit.kind == "equal to":
            return limit.value
        if limit.kind == "at most":
            return min(size, limit.value)
        return (size // limit.value + 1) * limit.value

    def _reaches(self) -> list[int]:
        """What blocks cover, alone and several together."""
        products = (
            math.prod(chosen)
            for count in (1, 2, 3)
            for chosen in itertools.combinations(self._blocks, count)
        )
        return sorted({product for product in products if product <= _LARGEST})

    def _beyond(self) -> int:
        return (max([*self._reaches(), *self._tuned.values(), 16]) | 1) + 2

    def _middle(self) -> int:
        block = max([16, *(block for block in self._blocks if block <= 256)])
        return block + 2 * self._random.randrange(1, block // 2) + 1

    def _small(self) -> int:
        return 2 * self._random.randrange(1, 4) + 1

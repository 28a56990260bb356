"""A kernel of a user's file as the C library needs it, traced to formulas of its sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from engine.c_library.variant import Variant
from foundation.c_expressions import Expression, Operand, c_text, compared
from foundation.config import Config, ParameterValue
from foundation.errors import UserError
from foundation.shapes import Shape
from foundation.triton_options import PREFETCH
from kernels.own.accesses import Accesses, accesses_of
from kernels.own.kernel_file import read_kernel_file
from kernels.own.kernel_path import split_path
from kernels.own.launch import Launch
from kernels.own.repeatable import repeatable_grid
from kernels.plain_calls.call import PlainCall, Sizes
from kernels.registry import load_kernel
from kernels.traced.call import traced_call
from kernels.traced.formulas import Formula, UntranslatedError
from kernels.traced.launch import TracedLaunch, traced_launch
from kernels.traced.right_sizes import Limit, RightSizes, limits_of

__all__ = ["OwnKernel"]

_LARGEST_I32 = 2**31 - 1
# Blocks that have to cover a size: up to which one there is code, unless more was tuned.
_MOST_COVERED = 4096
_MOST_SHOWN = 2  # of the alternatives, on one line


class OwnKernel:
    """The kernel of a user's file with one element type.

    Args:
        file: as `load_kernel` takes it.
        dtype: Triton's name of the element type.

    Raises:
        UserError: if the file cannot be read, or launches no kernel by functions of its own.
    """

    may_lack_variants = True

    def __init__(self, file: str, dtype: str) -> None:
        if not load_kernel(file).launch_functions:
            raise UserError(
                f"{file} has no function arguments or call, which a C function is made from: "
                "write a file that has one, as in docs/reference/kernel_file.md"
            )
        self._file = read_kernel_file(*split_path(file))
        self._dtype = dtype
        self._launches: dict[object, TracedLaunch] = {}
        self._calls: list[PlainCall] = []
        self._found: dict[object, RightSizes] = {}
        self.name = self._file.name
        self.function = self._file.function

    def add(self, config: Config, shape: Shape) -> None:
        """Take a winner into account.

        Raises:
            UserError: if it cannot be called from C.
        """
        if not self._is_called_alike(config, shape):
            raise UserError(
                f"{self._file.path}: {self._file.maker().__name__} makes other arguments at "
                f"{dict(shape)} than at another tuned shape, and a C function has one list of them"
            )

    def _is_called_alike(self, config: Config, shape: Shape) -> bool:
        """Whether it is called there as elsewhere; then what it reads and writes there counts."""
        launch = Launch(self._file, shape, self._dtype, config)
        repeatable_grid(launch, launch.values())
        accesses = self._accesses(config, shape)
        call = traced_call(self._file, self._launch(config, shape), accesses)
        text = self._text(call)
        if any(self._text(other) != text for other in self._calls):
            return False
        self._calls.append(call)
        return True

    def _accesses(self, config: Config, shape: Shape) -> Accesses:
        return accesses_of(Launch(self._file, shape, self._dtype, config))

    @property
    def call(self) -> PlainCall:
        """That of all winners: an array that one of them writes is written."""
        first, *others = self._calls
        arrays = list(first.arrays)
        for other in others:
            for number, (one, two) in enumerate(zip(arrays, other.arrays, strict=True)):
                if one.access != two.access:
                    arrays[number] = replace(one, access="inout")
        return replace(first, arrays=tuple(arrays))

    def variants(self, tuned: Sequence[Variant]) -> list[Variant]:
        """The tuned ones, and others for sizes at which the file gives other constants."""
        every = [*tuned, *(other for variant in tuned for other in self._others(variant))]
        return [v for v in every if self.is_tuned(v) or self._limits(v) is not None]

    def constants(self, variant: Variant) -> dict[str, ParameterValue | None]:
        """What the file gives at the variant's sizes, and the configuration."""
        found = self._launch(variant.config, variant.shape).constants
        own = {name: value for name, value in found.items() if name != PREFETCH}  # of the compiler
        return {name: _value(value, variant.shape) for name, value in own.items()}

    def grid(self, variant: Variant, sizes: Sizes) -> Sequence[Operand]:
        """The file's grid as formulas."""
        return self._at(self._launch(variant.config, variant.shape).grid, sizes)

    def room_elements(self, variant: Variant, sizes: Sizes) -> Sequence[Operand]:
        """None: all memory is the caller's."""
        return ()

    def conditions(self, variant: Variant, sizes: Sizes) -> Sequence[Operand]:
        """There is something to run, what the file decided by the variant's sizes is decided so,
        and the code was found right for such sizes."""
        runs = [compared(1, "<=", size) for size in sizes.values()]
        runs += [compared(1, "<=", count) for count in self.grid(variant, sizes)]
        runs += self._fitting(variant, sizes)
        return [*runs, *self._decided(variant, sizes), *self._found_right(variant, sizes)]

    def _decided(self, variant: Variant, sizes: Sizes) -> list[Operand]:
        """What the code of the variant takes for granted."""
        launch = self._launch(variant.config, variant.shape)
        conditions = self._at(launch.conditions, sizes)
        for value in launch.constants.values():
            if isinstance(value, Formula):
                decided = value.at(variant.shape)
                conditions.append(compared(self._at_sizes(value.at, sizes), "==", decided))
        return conditions

    def _fitting(self, variant: Variant, sizes: Sizes) -> list[Operand]:
        """The kernel takes its integers in 32 bits, as they were at the tuned sizes."""
        integers = self._launch(variant.config, variant.shape).integers.values()
        formulas = [value for value in integers if isinstance(value, Formula)]
        computed = [f for f in formulas if not (f.is_size or f.is_condition)]
        return [compared(number, "<=", _LARGEST_I32) for number in self._at(computed, sizes)]

    def _found_right(self, variant: Variant, sizes: Sizes) -> list[Operand]:
        limits = self._limits(variant)
        if limits is None:  # wrong on this machine, and not on the board
            limits = tuple(Limit(name, "equal to", s) for name, s in variant.shape.items())
        return [limit.holds(sizes) for limit in limits]

    def is_tuned(self, variant: Variant) -> bool:
        """Whether exactly this was measured."""
        winner = variant.winner
        return (variant.shape, variant.target) == (winner.shape, winner.target)

    def notes(self, variants: Sequence[Variant]) -> list[str]:
        """The sizes for which there is code, where that is not any."""
        every = self._limited(variants)
        return ["There is code where", *(f"- {one}" for one in every)] if every else []

    def limits_in_words(self, variants: Sequence[Variant]) -> str:
        """The same in one line, and why."""
        every = self._limited(variants)
        if not every:
            return ""
        shown = ", or ".join(every[:_MOST_SHOWN])
        more = f", or {len(every) - _MOST_SHOWN} more" if len(every) > _MOST_SHOWN else ""
        decided = f"{self._file.path.name} decides by its sizes"
        why = next((found.why for found in self._found.values() if found.why), decided)
        return f"there is code where {shown}{more}; {why}"

    def _limited(self, variants: Sequence[Variant]) -> list[str]:
        """What has to hold of sizes for any of the variants; nothing if one takes any."""
        sizes = _symbols(self._calls[0])
        every = []
        for variant in variants:
            limited = [*self._decided(variant, sizes), *self._found_right(variant, sizes)]
            texts = [_in_words(c_text(one)) for one in limited if isinstance(one, Expression)]
            every.append(" and ".join(dict.fromkeys(texts)))
        return [] if "" in every else [*dict.fromkeys(every)]

    def _others(self, tuned: Variant) -> list[Variant]:
        """For each thing that the file decides otherwise at other sizes, a variant, where it passes
        the same arguments."""
        tuned_decisions, found = self._decisions(tuned), dict[str, Variant]()
        for shape in self._deciding_shapes(tuned):
            other = replace(tuned, shape=shape)
            try:
                decisions = self._decisions(other)
            except UserError:  # the file refuses such sizes
                continue
            if decisions != tuned_decisions:
                found[decisions] = other  # the last is the largest
        alike, unknown = [], Accesses()
        is_known = self._accesses(tuned.config, tuned.shape) != unknown
        for other in found.values():
            with contextlib.suppress(UserError):
                # Nothing is known of what does not compile, such as a block of no elements.
                if is_known and self._accesses(other.config, other.shape) == unknown:
                    continue
                if self._is_called_alike(other.config, other.shape):
                    alike.append(other)
        return alike

    def _decisions(self, variant: Variant) -> str:
        """What the file decides by a variant's sizes: they are the same where this is."""
        launch = self._launch(variant.config, variant.shape)
        conditions = sorted(str(condition.in_words()) for condition in launch.conditions)
        return _key(self.constants(variant)) + str(conditions)

    def _deciding_shapes(self, tuned: Variant) -> Iterator[Shape]:
        """Shapes at which the file may decide otherwise than at the tuned one."""
        launch = self._launch(tuned.config, tuned.shape)
        constants = [value for value in launch.constants.values() if isinstance(value, Formula)]
        # Sizes that the file needs as plain numbers would each be code of their own.
        compared_sizes = [one for one in launch.conditions if not one.fixes_size]
        for formula in (*constants, *compared_sizes):
            by_powers = formula.has_powers or formula in compared_sizes
            for size in sorted(formula.symbols):
                yield {**tuned.shape, size: tuned.shape[size] | 1}
                power = 1
                while by_powers and power < 2 * max(_MOST_COVERED, tuned.shape[size]):
                    yield {**tuned.shape, size: power}
                    yield {**tuned.shape, size: max(power - 1, 1)}
                    power *= 2

    def _limits(self, variant: Variant) -> tuple[Limit, ...] | None:
        """Those of `limits_of`, which runs the kernel; they are the same for every target."""
        constants = self.constants(variant)
        key = _key(constants), tuple(variant.shape.items())
        if key not in self._found:
            blocks = [v for v in constants.values() if type(v) is int]
            self._found[key] = limits_of(
                lambda shape: Launch(self._file, shape, self._dtype, variant.config),
                variant.shape,
                blocks,
                lambda shape: all(self._decided(variant, shape)),
                self._launch(variant.config, variant.shape).elements,
            )
        return self._found[key].limits

    def _launch(self, config: Config, shape: Shape) -> TracedLaunch:
        key = config, tuple(shape.items())
        if key not in self._launches:
            self._launches[key] = traced_launch(self._file, shape, self._dtype, config)
        return self._launches[key]

    def _text(self, call: PlainCall) -> str:
        """All of a call but what is read and what is written."""
        sizes = _symbols(call)
        arrays = [(a.name, a.dtype, a.also, self._at_sizes(a.shape, sizes)) for a in call.arrays]
        apart = [self._at_sizes(a.apart, sizes) for a in call.arrays if a.apart]
        return repr((arrays, apart, self._at_sizes(call.integers, sizes), call.numbers))

    def _at(self, formulas: Sequence[Formula], sizes: Sizes) -> list[Any]:
        return [self._at_sizes(formula.at, sizes) for formula in formulas]

    def _at_sizes(self, function: Any, sizes: Sizes) -> Any:
        try:
            return function(sizes)
        except UntranslatedError as error:
            raise UserError(
                f"{self._file.path} computes {error} from its sizes, which has no equal in C: "
                "use +, -, *, //, %, min, max, triton.cdiv and triton.next_power_of_2"
            ) from error


def _symbols(call: PlainCall) -> dict[str, Any]:
    return {name: Expression(name) for name in call.sizes}


def _value(value: Any, shape: Shape) -> Any:
    if not isinstance(value, Formula):
        return value
    found = value.at(shape)
    return bool(found) if value.is_condition else found


def _in_words(condition: str) -> str:
    return condition[1:-1].replace("tuned_power_above", "next_power_of_2")


def _key(constants: dict[str, ParameterValue | None]) -> str:
    return repr(sorted(constants.items()))

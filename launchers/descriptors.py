"""Arguments that are tensor descriptors, as the values that stand for them in a data file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from launchers.arguments import Argument
from triton_rvv.frontend.descriptors import descriptor_parts

__all__ = ["taken_apart"]


def taken_apart(arguments: Iterable[Argument]) -> tuple[Argument, ...]:
    """The arguments with descriptors replaced by an array and the numbers that describe it.

    They have the names that `triton_rvv.frontend.descriptors.part_names` gives.
    """
    return tuple(part for argument in arguments for part in _parts(argument))


def _parts(argument: Argument) -> Iterator[Argument]:
    described = argument.described
    yield replace(argument, described=None)
    if described is not None:
        parts = descriptor_parts(described.shape, described.strides, described.padding)
        for number, part in enumerate(parts):
            kind = "i1" if isinstance(part, bool) else "i64"
            yield Argument(f"{argument.name}.{number}", kind, int(part))

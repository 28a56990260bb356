"""What a library says of where its code is from, for `readelf -p`."""

from __future__ import annotations

from collections.abc import Iterator

from engine.c_library.variant import Function, Variant
from foundation.shapes import shape_text

__all__ = ["provenance"]


def provenance(function: Function) -> list[str]:
    """A line for each variant of a function, and one for each study that they come from."""
    return [*_variants(function), *_studies(function)]


def _variants(function: Function) -> Iterator[str]:
    for variant in function.variants:
        about = f"{function.kernel.name} {function.dtype}, {variant.target}: {variant.config}"
        yield f"{about}; {_origin(function, variant)}"


def _origin(function: Function, variant: Variant) -> str:
    winner, place = variant.winner, shape_text(variant.shape)
    if not variant.exact:
        return f"not measured, near {place}, from the winner at {shape_text(winner.shape)}"
    estimated = " (estimated)" if winner.estimated else ""
    return f"tuned at {place}: {winner.time_s * 1e3:.4g} ms{estimated} on {winner.device}"


def _studies(function: Function) -> Iterator[str]:
    winners = {variant.winner.study: variant.winner for variant in function.variants}
    for name, winner in sorted(winners.items()):
        yield f"study {name}: {winner.made_with}"

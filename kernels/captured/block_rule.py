"""What one load of a tensor descriptor takes, as far as it follows the configuration."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BlockRule"]


@dataclass(frozen=True)
class BlockRule:
    """The blocks of a launch's descriptors as a function of its constexprs.

    Args:
        sizes: by the descriptor's parameter, of each axis its size, or the constexpr that it
            follows.
    """

    sizes: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)

    def blocks(self, constants: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """What one load of each descriptor takes for these values of the constexprs."""
        return {
            name: tuple(int(constants[s]) if isinstance(s, str) else s for s in sizes)
            for name, sizes in self.sizes.items()
        }

    def following(self, parameter: str, value: int) -> Iterator[BlockRule]:
        """The rules in which more axes of this size follow a parameter: one of each descriptor.

        Those that change most descriptors come first, the rule itself last.
        """
        choices = []
        for sizes in self.sizes.values():
            axes = [axis for axis, size in enumerate(sizes) if size == value]
            choices.append([*(axes if parameter not in sizes else ()), None])
        for chosen in sorted(itertools.product(*choices), key=lambda axes: axes.count(None)):
            yield BlockRule(
                {
                    name: tuple(parameter if n == axis else s for n, s in enumerate(sizes))
                    for (name, sizes), axis in zip(self.sizes.items(), chosen, strict=True)
                }
            )

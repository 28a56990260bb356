"""A launch's tensors, and the memory that they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch

__all__ = ["Memory", "View", "joined"]


@dataclass(frozen=True)
class View:
    """Where a tensor argument lies in one of the storages.

    Args:
        storage: its key in `Memory.storages`.
        offset: of its first element, in elements of its own type.
        shape, strides: in elements.
        dtype: of its elements; that of the storage, or one that reads its bytes otherwise.
    """

    storage: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype

    @property
    def span(self) -> int:
        """Elements from the tensor's first to its last, those between them included."""
        if 0 in self.shape:
            return 0
        return 1 + sum(
            (size - 1) * step for size, step in zip(self.shape, self.strides, strict=True)
        )


@dataclass(frozen=True)
class Memory:
    """The contents of a launch's tensors.

    Args:
        storages: one-dimensional tensors; what shares memory in the program shares one of them.
        views: the tensor of each parameter that is one.
    """

    storages: Mapping[int, torch.Tensor]
    views: Mapping[str, View]

    def tensor(self, name: str) -> torch.Tensor:
        """The tensor of a parameter, with its shape and strides; shares the storage's memory."""
        view = self.views[name]
        return self._typed(view).as_strided(view.shape, view.strides, view.offset)

    def span(self, name: str) -> torch.Tensor:
        """The parameter's memory from its first element to its last, in one dimension."""
        view = self.views[name]
        return self._typed(view).as_strided((view.span,), (1,), view.offset)

    def reach(self, name: str, *, with_front: bool = False) -> torch.Tensor:
        """What a kernel may read from a parameter on: its span, and what lies behind it.

        That is the rest of its storage, if no other tensor lies there.

        Args:
            name: of the parameter.
            with_front: whether what lies in front of it there comes first.
        """
        view = self.views[name]
        if not self._is_alone(view):
            return self.span(name)
        return self._typed(view)[0 if with_front else view.offset :]

    def _is_alone(self, view: View) -> bool:
        """Whether no other tensor lies in the storage of one that is not empty."""
        return view.span > 0 and [v.storage for v in self.views.values()].count(view.storage) == 1

    def _typed(self, view: View) -> torch.Tensor:
        storage = self.storages[view.storage]
        return storage if self._of_one_type(view) else storage.view(view.dtype)

    def _of_one_type(self, view: View) -> bool:
        """Whether the view reads its storage in a type of its own, or in the storage's."""
        return view.storage not in self.mixed

    @property
    def mixed(self) -> frozenset[int]:
        """The storages that are read in several types."""
        kinds: dict[int, set[torch.dtype]] = {}
        for view in self.views.values():
            kinds.setdefault(view.storage, set()).add(view.dtype)
        return frozenset(key for key, types in kinds.items() if len(types) > 1)

    @property
    def strides_of_one(self) -> frozenset[int]:
        """The strides of dimensions of one element, where any is right."""
        views = self.views.values()
        pairs = (pair for view in views for pair in zip(view.shape, view.strides, strict=True))
        return frozenset(stride for size, stride in pairs if size == 1)

    @property
    def shared(self) -> tuple[tuple[str, ...], ...]:
        """The groups of two or more parameters that lie in one storage, in the kernel's order."""
        groups: dict[int, list[str]] = {}
        for name, view in self.views.items():
            groups.setdefault(view.storage, []).append(name)
        return tuple(tuple(names) for names in groups.values() if len(names) > 1)

    def with_storages(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Memory:
        """The same tensors over changed storages; those that are read in several types stay.

        Args:
            change: returns a new tensor with as many elements, maybe of another type.
        """
        mixed = self.mixed
        changed = {
            key: storage.clone() if key in mixed else change(storage)
            for key, storage in self.storages.items()
        }
        return Memory(changed, self.views)

    def with_tails(self, elements: int, value: float = 0.0) -> Memory:
        """The same, with so many more elements of this value behind each storage.

        Integers are 1 for NaN.
        """

        def longer(storage: torch.Tensor) -> torch.Tensor:
            number = 1.0 if math.isnan(value) and not storage.is_floating_point() else value
            tail = torch.full((elements,), number, device=storage.device).to(storage.dtype)
            return joined(storage, tail)

        return Memory({key: longer(storage) for key, storage in self.storages.items()}, self.views)

    def copied(self) -> Memory:
        """The same contents in memory of their own."""
        return self.with_storages(torch.clone)

    def apart(self, *, with_fronts: bool = False) -> Memory:
        """The same tensors, none of which shares memory with another.

        Args:
            with_fronts: whether what lies in front of tensors in their storages stays there.
        """
        storages = {
            number: self.reach(name, with_front=with_fronts).clone()
            for number, name in enumerate(self.views)
        }
        views = {
            name: replace(
                view, storage=number, offset=view.offset * (with_fronts and self._is_alone(view))
            )
            for number, (name, view) in enumerate(self.views.items())
        }
        return Memory(storages, views)


def joined(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """One array behind another of its type; torch joins only some types, but bytes always."""
    return torch.cat([one.view(torch.uint8), other.view(torch.uint8)]).view(one.dtype)

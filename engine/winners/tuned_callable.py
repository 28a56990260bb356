"""A callable that runs with the stored winner of its sizes, compiled once for each key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.study.location import DEFAULT_STORAGE
from engine.winners.lookup import MAX_KEY_COST, Found, find, wanted
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem

__all__ = ["TunedCallable"]


class TunedCallable:
    """What a file's `build` returns for the winner, called as `tuned(a, b, c, M=..., N=...)`.

    Winners are looked up again when a size in the file's `update_on_change` has changed, and any
    size without one. A compiled callable serves again for the same key of the file.

    Args:
        path: of the file.
        device: the device whose studies are used.
        storage: where they are stored.
        max_key_cost: highest acceptable cost of the power-of-two key, as in `engine.lookup`.

    Attributes:
        found: the stored winner that the last call ran with.

    Raises:
        UserError: if the file has no `build`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        device: str = "python",
        storage: str = DEFAULT_STORAGE,
        max_key_cost: float = MAX_KEY_COST,
    ) -> None:
        self._spec = load_kernel(str(path))
        if self._spec.callable_file is None:
            raise UserError(f"{path} has no function build: see docs/guides/callables.md")
        self._file = self._spec.callable_file
        self._device, self._storage, self._max_key_cost = device, storage, max_key_cost
        self._winners: dict[object, Found] = {}
        self._compiled: dict[object, Callable[..., object]] = {}
        self.found: Found | None = None

    def __call__(self, *arguments: Any, dtype: str | None = None, **sizes: int) -> object:
        """Run with the winner.

        Args:
            arguments: as the file's `arguments` orders them.
            dtype: element type; None for the file's first.
            sizes: by name; those left out keep the file's default.

        Raises:
            NotTunedError: if nothing is stored for the callable on the device.
        """
        problem = make_problem(self._spec, sizes, dtype)
        changes = self._file.update_on_change
        names = tuple(problem.shape) if changes is None else changes
        place = (*(problem.shape[name] for name in names), problem.dtype)
        if place not in self._winners:
            asked = wanted(self._spec.load_name, problem.shape, problem.dtype, self._device)
            self._winners[place] = find(asked, self._storage, self._max_key_cost)
        self.found = self._winners[place]
        key = self._file.compiled_key(problem, self.found.config)
        if key not in self._compiled:
            names_of = self._file.argument_names(problem, self.found.config)
            values = dict(zip(names_of, arguments, strict=True))
            self._compiled[key] = self._file.build(problem, self.found.config, values)
        return self._compiled[key](*arguments)

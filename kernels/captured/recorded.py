"""A task of a capture's file, ready to be launched in this process."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from triton import language

from foundation.config import ParameterValue
from foundation.errors import UserError
from foundation.torch_types import TORCH_TYPES
from kernels.captured.block_rule import BlockRule
from kernels.captured.deployed import Deployed
from kernels.captured.drawn import Drawn
from kernels.captured.kernel_source import loaded_kernel
from kernels.captured.memory import Memory, View
from kernels.captured.names import keys_advice, task_name
from kernels.captured.task import Recorded, Storage, Task
from kernels.captured.task_file import Capture, read_capture
from kernels.captured.task_values import Constant, Descriptor, Named, Scalar, Tensor, TupleValue
from kernels.source_digest import source_digest
from launchers.arguments import Described
from triton_rvv.frontend.tuples import named, nested

__all__ = ["RecordedTask", "load_task"]

_OTHER_SEED = 1_000_003


def load_task(capture: Path, name: str) -> RecordedTask:
    """A task of a capture.

    Args:
        capture: the file.
        name: the task's key, the first digits of it, or the name of a kernel with a single task.

    Raises:
        UserError: if none or several have that name, or its kernel cannot be launched here.
    """
    tasks = _capture(capture, capture.stat().st_mtime_ns if capture.exists() else 0).tasks
    found = [task for task in tasks if name in (task.key, task.kernel.name)]
    found = found or [task for task in tasks if task.key.startswith(name)]
    if len(found) != 1:
        count = f"{len(found)} tasks" if found else "no task"
        raise UserError(f"{capture} has {count} {name}: {keys_advice(capture)}")
    return RecordedTask(found[0], capture)


@functools.lru_cache(maxsize=2)
def _capture(path: Path, _changed_ns: int) -> Capture:
    return read_capture(path)


class RecordedTask:
    """One task, as `kernels.captured.problem.LaunchedTask` describes.

    Args:
        task: what was recorded.
        capture: the file that holds it.

    Raises:
        UserError: if the kernel cannot be loaded, or takes what tuning does not know.
    """

    def __init__(self, task: Task, capture: Path) -> None:
        self.task = task
        self.load_name = task_name(capture, task.key)
        self._kernel = loaded_kernel(task.kernel, task.heuristics, whole=_takes_functions(task))
        self._views = {n: _view(task, n, v) for n, v in task.tensors.items()}
        self.deployed = Deployed(
            function=self._kernel.function,
            scalars=_scalars(task),
            constants={n: self._constant(value) for n, value in _constants(task).items()},
            options=task.options,
            grid=task.grid,
            grid_samples=[(sample.changed, sample.grid) for sample in task.grid_samples],
            descriptors={
                name: Described(value.shape, value.strides, value.padding)
                for name, value in _descriptors(task).items()
            },
            blocks=BlockRule({n: value.block_shape for n, value in _descriptors(task).items()}),
        )
        self.listed: Sequence[Mapping[str, ParameterValue]] = task.listed

    @property
    def digest(self) -> str:
        """Changes with the signature, the heuristics and the contents that were recorded."""
        parts = hashlib.sha256(self.task.key.encode())
        if self._kernel.heuristics:  # which the kernel's own source does not tell of
            parts.update(source_digest(self._kernel.heuristics.values()).encode())
        for storage in self.task.storages:
            contents = storage.contents
            if isinstance(contents, Recorded):
                parts.update(contents.data)
            else:
                parts.update(repr(contents).encode())
        return parts.hexdigest()[:16]

    @property
    def is_drawn(self) -> bool:
        """Whether the capture kept only what the contents of some tensors are like."""
        return any(isinstance(storage.contents, Drawn) for storage in self.task.storages)

    @property
    def shares_memory(self) -> bool:
        """Whether two of its tensors lie in one storage."""
        storages = [view.storage for view in self._views.values()]
        return len(set(storages)) < len(storages)

    @property
    def listed_values(self) -> dict[str, list[ParameterValue]]:
        """The values of each constexpr that its autotuner lists.

        Empty if it leaves no choice of any, as lists do that differ in options alone.
        """
        values: dict[str, list[ParameterValue]] = {}
        for entry in self.listed:
            for name, value in entry.items():
                if name in self.deployed.constants and value not in values.setdefault(name, []):
                    values[name].append(value)
        return values if any(len(listed) > 1 for listed in values.values()) else {}

    def derived(self, constants: Mapping[str, Any]) -> Mapping[str, Any]:
        """The constexprs that `@triton.heuristics` derives from others."""
        if not self._kernel.heuristics:
            return {}
        with torch.device("meta"):
            memory = self.memory(0)
        tensors = {name: memory.tensor(name) for name in memory.views}
        numbers = {name: value for name, (_, value) in self.deployed.scalars.items()}
        parts = {**tensors, **numbers, **constants}
        known = {**parts, **{name: nested(name, parts) for name in self.task.arguments}}
        found = {}
        for name, function in self._kernel.heuristics.items():
            known[name] = function(known)
            if name in self.deployed.constants:  # others are options, such as num_warps
                found[name] = known[name]
        return found

    def _constant(self, value: Constant) -> Any:
        """The value of a constant in this process.

        Raises:
            UserError: for a function or a type that cannot be found.
        """
        if isinstance(value, tuple):
            return named(map(self._constant, value), getattr(value, "_fields", ()))
        if not isinstance(value, Named):
            return value
        return self._type(value.name) if value.kind == "dtype" else self._function(value.name)

    def _type(self, name: str) -> Any:
        """A type that is a constant, of torch or of Triton.

        Raises:
            UserError: for one that its name does not lead to.
        """
        module, _, inner = name.rpartition(".")
        found = getattr(torch, inner, None) if module == "torch" else _triton_type(name)
        if found is None:
            raise UserError(
                f"{self.task.kernel.name} takes the type {name} as a constant: such kernels cannot "
                "be tuned"
            )
        return found

    def _function(self, name: str) -> Any:
        """A kernel that is a constant of this one, by module:qualified_name."""
        module, _, qualname = name.partition(":")
        first, *rest = qualname.split(".")
        if module == self.task.kernel.module:  # which may be the program itself
            found = self._kernel.function.fn.__globals__.get(first)
        else:
            found = getattr(_module(module), first, None)
        for part in rest:
            found = getattr(found, part, None)
        if found is None:
            raise UserError(
                f"{self.task.kernel.name} takes the function {name}, which is not there"
            )
        return found

    def memory(self, data_set: int) -> Memory:
        """Its tensors before the launch, on torch's default device."""
        device = torch.get_default_device()
        if device.type == "meta":
            with torch.device("meta"):
                return Memory({n: _empty(s) for n, s in enumerate(self.task.storages)}, self._views)
        with _on_cpu():
            storages = {n: _other(s, data_set).tensor() for n, s in enumerate(self.task.storages)}
        return Memory({n: s.to(device) for n, s in storages.items()}, self._views)


def _module(name: str) -> Any:
    """A module by its name; None if it cannot be imported here, for whatever reason."""
    try:
        return importlib.import_module(name)
    except Exception:
        return None


@contextmanager
def _on_cpu() -> Iterator[None]:
    with torch.device("cpu"):
        yield


def _empty(storage: Storage) -> torch.Tensor:
    return torch.empty(storage.elements, dtype=TORCH_TYPES[storage.dtype])


def _other(storage: Storage, data_set: int) -> Storage:
    """The storage with other contents, where they are drawn, for another data set."""
    contents = storage.contents
    if not data_set or not isinstance(contents, Drawn):
        return storage
    drawn = dataclasses.replace(contents, seed=contents.seed + _OTHER_SEED * data_set)
    return dataclasses.replace(storage, contents=drawn)


def _view(task: Task, name: str, tensor: Tensor) -> View:
    dtype = TORCH_TYPES[tensor.dtype]
    offset_bytes = task.storages[tensor.storage].front_bytes + tensor.offset
    if offset_bytes % dtype.itemsize:
        raise UserError(
            f"{name} of {task.kernel.name} does not begin at a whole element of its memory: such "
            "arguments cannot be tuned"
        )
    offset = offset_bytes // dtype.itemsize
    return View(tensor.storage, offset, tensor.shape, tensor.strides, dtype)


def _takes_functions(task: Task) -> bool:
    """Whether a constant is a function, whose name leads to it through its module."""

    def is_function(value: object) -> bool:
        if isinstance(value, tuple):
            return any(map(is_function, value))
        return isinstance(value, Named) and value.kind == "function"

    return any(map(is_function, [*task.constants.values(), *task.parts.values()]))


def _scalars(task: Task) -> dict[str, tuple[str, int | float]]:
    return {
        name: ("i1" if value.type == "u1" else value.type, value.value)
        for name, value in task.parts.items()
        if isinstance(value, Scalar)
    }


def _descriptors(task: Task) -> dict[str, Descriptor]:
    return {name: v for name, v in task.parts.items() if isinstance(v, Descriptor)}


def _constants(task: Task) -> dict[str, Constant]:
    """The constants, and those among the arguments: types, functions, and what is in tuples."""
    found = dict(task.constants)
    for name, value in task.parts.items():
        if isinstance(value, TupleValue):
            found[name] = ()
        elif not isinstance(value, Scalar | Tensor | Descriptor):
            found[name] = value
    return found


def _triton_type(name: str) -> Any:
    """Triton's type of a name such as fp32 or float32; None if there is none."""
    names = {"fp": "float", "bf": "bfloat", "i": "int", "u": "uint"}
    prefix = next((p for p in names if name.startswith(p)), "")
    plain = names.get(prefix, "") + name.removeprefix(prefix)
    return getattr(language, name, getattr(language, plain, None))

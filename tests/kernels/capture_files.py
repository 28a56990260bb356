"""Writes a capture's file as a program would: launches of kernels on tensors of the processor."""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from triton.runtime.autotuner import Autotuner

from foundation.torch_types import TORCH_TYPES
from triton_rvv.launches.source import kernel_digest

__all__ = ["CaptureFile"]

_NAMES = {torch_type: name for name, torch_type in TORCH_TYPES.items()}


class CaptureFile:
    """A file to which launches are added.

    Args:
        path: of the file, which is made anew.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys: list[str] = []
        path.write_text("")
        self._add({"record": "capture", "version": 1})

    def _add(self, record: Mapping[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def launch(
        self,
        kernel: Any,
        grid: Sequence[int],
        values: Mapping[str, Any],
        *,
        launches: int = 1,
        time_s: float | None = 1e-5,
        options: Mapping[str, Any] | None = None,
        grid_samples: Sequence[Mapping[str, Any]] = (),
        target: str = "host:test",
        **kernel_fields: Any,
    ) -> str:
        """Add a task, and return its key.

        Args:
            kernel: under its decorators; of an autotuner, the values are those that it chose.
            grid: programs along x, y and z.
            values: by parameter: tensors, numbers and constants.
            launches: how often it was launched.
            time_s: of one launch; None if it was not timed.
            options: of the compiler.
            grid_samples: what the program's function gives for other constants.
            target: Triton's, on which it was launched.
            kernel_fields: other values of `kernels.captured.task.Kernel`.
        """
        configurations, function = None, kernel
        if isinstance(kernel, Autotuner):
            configurations = [{**c.kwargs, "num_warps": c.num_warps} for c in kernel.configs]
        while not hasattr(function, "params"):
            function = function.fn
        constexprs = {p.name for p in function.params if p.is_constexpr}
        storages, arguments = _arguments(values, constexprs)
        module = inspect.getmodule(function.fn)
        assert module is not None
        text = inspect.getsource(module)
        digest = kernel_digest(function)
        self._add({"record": "source", "digest": f"file-{digest}", "text": text})
        fields = {
            "module": module.__name__,
            "qualname": function.fn.__qualname__,
            "file": str(module.__file__),
            "line": function.fn.__code__.co_firstlineno,
            "digest": digest,
            "source": function.src,
            "module_source": f"file-{digest}",
        }
        task = {
            "kernel": {**fields, **kernel_fields},
            "arguments": arguments,
            "constants": {n: v for n, v in values.items() if n in constexprs or v is None},
            "options": {"num_warps": 4, "num_stages": 3, **(options or {})},
            "storages": storages,
            "grid": [*grid, 1, 1][:3],
            "is_grid_callable": False,
            "grid_samples": [*grid_samples],
            "configurations": configurations,
            "autotune_key": [],
            "heuristics": [],
            "wrappers": [],
            "device": "host",
            "target": target,
        }
        key = hashlib.sha256(json.dumps(task, sort_keys=True).encode()).hexdigest()[:16]
        # What only `run` reads.
        others = {"call_key": key, "family": key, "call_family": key, "sizes": []}
        self._add({"record": "task", "key": key, **others, **task})
        times = {"launches": launches, "timed": launches if time_s else 0}
        total_s = (time_s or 0.0) * launches
        self._add({"record": "times", "key": key, "process": "1", **times, "time_s": total_s})
        self.keys.append(key)
        return key


def _arguments(
    values: Mapping[str, Any], constexprs: set[str]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The storages and the arguments, as records."""
    places: dict[int, int] = {}
    storages: list[dict[str, Any]] = []
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        if name in constexprs or value is None:
            continue
        if isinstance(value, torch.Tensor):
            memory = value.untyped_storage()
            if memory.data_ptr() not in places:
                places[memory.data_ptr()] = len(storages)
                storages.append(_storage(value))
            arguments[name] = {"tensor": _tensor(value, places[memory.data_ptr()])}
        else:
            kind = "i32" if isinstance(value, int) else "fp32"
            arguments[name] = {"scalar": {"type": kind, "value": value}}
    return storages, arguments


def _storage(tensor: torch.Tensor) -> dict[str, Any]:
    whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    data = whole.view(torch.uint8).numpy().tobytes()
    packed = base64.b64encode(zlib.compress(data)).decode()
    return {"dtype": _NAMES[tensor.dtype], "elements": len(whole), "contents": {"data": packed}}


def _tensor(tensor: torch.Tensor, storage: int) -> dict[str, Any]:
    return {
        "dtype": _NAMES[tensor.dtype],
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
        "alignment": 16,
        "storage": storage,
        "offset": tensor.storage_offset() * tensor.element_size(),
    }

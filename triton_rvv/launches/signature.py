"""A launch as plain data, and the keys by which it is known again."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from triton_rvv.frontend.tuples import element_names
from triton_rvv.launches.contents import Range, memory_ranges
from triton_rvv.launches.data_numbers import data_numbers
from triton_rvv.launches.decorators import Decorators
from triton_rvv.launches.options import PLAIN, options_of
from triton_rvv.launches.source import kernel_digest
from triton_rvv.launches.tensors import TYPES, tensors_in

__all__ = ["Signature", "bound_arguments", "constant_record", "signature_of"]

_TUPLES = frozenset({"tuple", "named_tuple"})


@dataclass(frozen=True)
class Signature:
    """A launch as plain data.

    Args:
        kernel: the digest of its code.
        arguments, constants, options: as a capture's file has them.
        telling: the options that tell launches apart. On a processor, numbers of warps and of
            stages do nothing, so they are the usual ones here.
        grid: numbers of programs.
        chosen: names of the constants that an autotuner or heuristics chose.
        ranges: the memory of the tensors.
        data: the arguments whose numbers only go into values, as seeds do.
    """

    kernel: str
    arguments: Mapping[str, Any]
    constants: Mapping[str, Any]
    options: Mapping[str, Any]
    telling: Mapping[str, Any]
    grid: Sequence[int]
    chosen: frozenset[str]
    is_tuned: bool
    ranges: Sequence[Range]
    data: frozenset[str]

    @property
    def key(self) -> str:
        """The same for launches that are counted together."""
        return _digest(
            [self.kernel, self._sizes(), dict(self.constants), dict(self.telling), list(self.grid)]
        )

    @property
    def frame(self) -> str:
        """The same for launches that differ in numbers alone, such as a step or a seed.

        Flags, and integers that are 0 or 1, are no such numbers.
        """
        arguments = {name: _without_numbers(value) for name, value in self.arguments.items()}
        fixed = [dict(self.constants), dict(self.telling), list(self.grid)]
        return _digest([self.kernel, arguments, *fixed])

    @property
    def call_key(self) -> str:
        """The same whatever an autotuner or heuristics choose."""
        sizes = {name: self._called(value) for name, value in self._sizes().items()}
        return _digest([self.kernel, sizes, *self._fixed()])

    @property
    def family(self) -> str:
        """The same for launches that differ in sizes alone."""
        types = {name: _without_sizes(value) for name, value in self.arguments.items()}
        return _digest([self.kernel, types, dict(self.constants), dict(self.telling)])

    @property
    def call_family(self) -> str:
        """The same for calls that differ in sizes alone, whatever an autotuner chooses."""
        types = {n: _without_sizes(self._called(value)) for n, value in self.arguments.items()}
        return _digest([self.kernel, types, *self._fixed()])

    @property
    def sizes(self) -> list[int]:
        """All sizes of tensors, and integers but for those that only go into values."""
        counted = [value for name, value in self.arguments.items() if name not in self.data]
        return [size for value in counted for size in _sizes_of(value)]

    @property
    def dimensions(self) -> list[int]:
        """All sizes of tensors."""
        return [size for value in self.arguments.values() for size in _dimensions_of(value)]

    def dtype_name(self, tensor: torch.Tensor) -> str:
        """Triton's name of a tensor's elements."""
        return TYPES[tensor.dtype]

    def _called(self, value: Any) -> Any:
        """An argument without the block that a hook of the autotuner's configuration sets."""
        if not self.is_tuned or not isinstance(value, dict) or "descriptor" not in value:
            return value
        return {"descriptor": {**value["descriptor"], "block_shape": []}}

    def _fixed(self) -> list[dict[str, Any]]:
        """The constants and options that no autotuner or heuristics choose."""
        fixed = {n: v for n, v in self.constants.items() if n not in self.chosen}
        return [fixed, {} if self.is_tuned else dict(self.telling)]

    def _sizes(self) -> dict[str, Any]:
        """The arguments without the values of floats, and of integers that only go into values."""
        data = self.data
        return {n: _without_values(v, are_data=n in data) for n, v in self.arguments.items()}


def signature_of(
    kernel: Any,
    bound: Mapping[str, Any],
    given_options: Mapping[str, Any],
    grid: Sequence[int],
    decorators: Decorators,
) -> Signature:
    """The signature of a launch.

    Args:
        kernel: made by `@triton.jit`.
        bound: the value of each of its parameters.
        given_options: options of the compiler that the launch gives.
        grid: numbers of programs.
        decorators: those around the kernel.

    Raises:
        TypeError: for an argument of a kind that cannot be recorded.
    """
    parameters = {p.name: p for p in kernel.params}
    tensors: dict[str, torch.Tensor] = {}
    for name, value in bound.items():
        if not parameters[name].is_constexpr:
            with _names_argument(name):
                tensors.update(tensors_in(name, value))
    ranges, placed = memory_ranges(tensors)
    arguments, constants = {}, {}
    for name, value in bound.items():
        with _names_argument(name):
            if value is None or parameters[name].is_constexpr:
                constants[name] = constant_record(value)
            else:
                arguments[name] = _argument(name, value, parameters[name], tensors, placed)
    options, telling = options_of(kernel, given_options)
    return Signature(
        kernel=kernel_digest(kernel),
        arguments=arguments,
        constants=constants,
        options=options,
        telling=telling,
        grid=list(grid),
        chosen=decorators.chosen,
        is_tuned=decorators.configurations is not None,
        ranges=ranges,
        data=data_numbers(kernel),
    )


@contextlib.contextmanager
def _names_argument(name: str) -> Iterator[None]:
    try:
        yield
    except TypeError as error:
        raise TypeError(
            f"its argument {name} is of a kind that no capture holds: {error}"
        ) from error


def bound_arguments(kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each parameter, defaults among them, in the kernel's order.

    Numbers of NumPy are Python's, as the host's launches take them.
    """
    defaults = {p.name: p.default for p in kernel.params if p.has_default}
    given = {**defaults, **dict(zip(kernel.arg_names, args, strict=False)), **kwargs}
    return {name: _number(given[name]) for name in kernel.arg_names if name in given}


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _argument(
    name: str,
    value: Any,
    parameter: Any,
    tensors: Mapping[str, torch.Tensor],
    placed: Mapping[str, Any],
) -> Any:
    if hasattr(value, "block_shape"):
        return {
            "descriptor": {
                "base": _tensor(name, tensors, placed),
                "shape": list(value.shape),
                "strides": list(value.strides),
                "block_shape": list(value.block_shape),
                "padding": getattr(value, "padding", "zero"),
            }
        }
    if name in tensors:
        return {"tensor": _tensor(name, tensors, placed)}
    if isinstance(value, list | tuple):
        fields = getattr(value, "_fields", ())
        names = element_names(name, len(value), fields)
        parts = [
            _argument(part_name, part, parameter, tensors, placed)
            for part_name, part in zip(names, value, strict=True)
        ]
        return _tuple_record(parts, fields)
    if isinstance(value, int | float):
        type_ = getattr(parameter, "annotation_type", "") or _scalar_type(value)
        return {"scalar": {"type": "i1" if type_ == "u1" else type_, "value": value}}
    return constant_record(value)


def _tuple_record(parts: list[Any], fields: Sequence[str]) -> dict[str, Any]:
    if fields:
        return {"named_tuple": {"fields": list(fields), "parts": parts}}
    return {"tuple": parts}


def _tensor(
    name: str, tensors: Mapping[str, torch.Tensor], placed: Mapping[str, Any]
) -> dict[str, Any]:
    tensor, place = tensors[name], placed[name]
    if tensor.dtype not in TYPES:
        raise TypeError(f"elements of {tensor.dtype}")
    address = tensor.data_ptr()
    return {
        "dtype": TYPES[tensor.dtype],
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
        "alignment": min(address & -address, 16) if address else 16,
        "storage": place.storage,
        "offset": place.offset,
    }


def _scalar_type(value: float | int) -> str:
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, float):
        return "fp32"
    if -(1 << 31) <= value < 1 << 31:
        return "i32"
    return "i64" if value < 1 << 63 else "u64"


def constant_record(value: Any) -> Any:
    """A constant as a capture's file has it.

    Raises:
        TypeError: for a value of a kind that cannot be recorded.
    """
    if type(value).__name__ == "constexpr":
        value = value.value
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, list | tuple):
        parts = [constant_record(part) for part in value]
        fields = getattr(value, "_fields", ())
        return _tuple_record(parts, fields) if fields else parts
    if hasattr(value, "src") and hasattr(value, "fn"):
        return {"function": f"{value.module}:{value.fn.__qualname__}"}
    if type(value).__name__ in ("dtype", "block_type"):
        return {"dtype": str(value)}
    raise TypeError(f"a value of the type {type(value).__name__}")


def _without_values(value: Any, *, are_data: bool) -> Any:
    if not isinstance(value, dict) or set(value) != {"scalar"}:
        return value
    scalar = value["scalar"]
    is_open = isinstance(scalar["value"], float) or (are_data and not _is_apart(scalar))
    return {**scalar, "value": None} if is_open else scalar


def _is_apart(scalar: Mapping[str, Any]) -> bool:
    """Whether it is a flag, or an integer that may be made a constant, as 0 and 1 are."""
    return scalar["type"] == "i1" or (type(scalar["value"]) is int and scalar["value"] in (0, 1))


def _without_numbers(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, parts),) = value.items()
    if kind in _TUPLES:
        return [_without_numbers(part) for part in _elements(value)]
    return parts["type"] if kind == "scalar" and not _is_apart(parts) else value


def _without_sizes(value: Any) -> Any:
    if not isinstance(value, dict):
        return str(type(value))
    ((kind, parts),) = value.items()
    if kind == "scalar":
        return parts["type"]
    if kind == "tensor":
        return [parts["dtype"], len(parts["shape"]), parts["alignment"]]
    if kind == "descriptor":
        return [_without_sizes({"tensor": parts["base"]}), parts["block_shape"]]
    return [_without_sizes(part) for part in _elements(value)] if kind in _TUPLES else value


def _sizes_of(value: Any) -> list[int]:
    if isinstance(value, dict) and "scalar" in value:
        number = value["scalar"]["value"]
        return [number] if isinstance(number, int) else []
    if isinstance(value, dict) and not _TUPLES.isdisjoint(value):
        return [size for part in _elements(value) for size in _sizes_of(part)]
    return _dimensions_of(value)


def _dimensions_of(value: Any) -> list[int]:
    if not isinstance(value, dict):
        return []
    ((kind, parts),) = value.items()
    if kind in ("tensor", "descriptor"):
        return list(parts["shape"])
    return [size for part in _elements(value) for size in _dimensions_of(part)]


def _elements(value: Mapping[str, Any]) -> list[Any]:
    """The records of a tuple's elements; none for what is no tuple."""
    if "named_tuple" in value:
        return list(value["named_tuple"]["parts"])
    return list(value.get("tuple", ()))


def _digest(parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

"""Lets `kernel[grid](...)` take NumPy arrays and scalars, as tensors that share their memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["accept_numpy_arrays"]


def accept_numpy_arrays() -> None:
    """Make kernels that are first called from now on take NumPy values where they take tensors.

    Triton decides on an argument's type in C++, by its `data_ptr()`, which an array cannot be
    given. Before that each call goes through a function that Triton generates for the kernel, to
    sort its arguments; here that function gets tensors instead.
    """
    from triton.runtime import jit

    generate = jit.create_function_from_signature
    if not hasattr(generate, "__wrapped__"):
        jit.create_function_from_signature = _with_numpy(generate)


def _with_numpy(generate: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(generate)
    def generate_with_numpy(*args: Any, **kwargs: Any) -> Callable[..., Any]:
        sort = generate(*args, **kwargs)

        def sort_with_numpy(*arguments: Any, **named: Any) -> Any:
            if any(map(_is_numpy, map(type, arguments))):
                arguments = tuple(map(_as_tensor, arguments))
            if any(map(_is_numpy, map(type, named.values()))):
                named = {name: _as_tensor(value) for name, value in named.items()}
            return sort(*arguments, **named)

        return sort_with_numpy

    return generate_with_numpy


@functools.cache
def _is_numpy(type_: type) -> bool:
    return issubclass(type_, np.ndarray | np.generic)


def _as_tensor(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        import torch

        return torch.from_numpy(value)
    if isinstance(value, np.generic):
        return value.item()
    return value

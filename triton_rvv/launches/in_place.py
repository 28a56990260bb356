"""Gives back what an autotuner's measurements change in place.

A kernel that updates a tensor does so in each launch that an autotuner measures. Where neither
`restore_value` nor `reset_to_zero` names the tensor, the program goes on with what the measurements
made of it: with other numbers in each run, and without measurements, as with winners, with others.
"""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from triton._C.libtriton import ir

from foundation.strides import memory_of
from triton_rvv.frontend.descriptors import passed_names
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.ttir_passes import generic_text
from triton_rvv.reached_arguments import reached_arguments

__all__ = ["given_back", "updated_tensors"]


def updated_tensors(tuner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors that a kernel may read and writes, and that its autotuner does not give back.

    None where a hook is there, which may give them back, or where that cannot be found out.

    Args:
        tuner: the autotuner.
        args, kwargs: what its `_bench` is given.
    """
    try:
        config = kwargs["config"]
        hooks = (config.pre_hook, getattr(tuner, "user_defined_pre_hook", True))
        if any(hooks):
            return {}
        given = {name: value for name, value in kwargs.items() if name != "config"}
        given.update(config.all_kwargs(), warmup=True)
        named = {**dict(zip(tuner.arg_names, args, strict=False)), **given}
        compiled = tuner.fn.run(*args, **given)
        names = _updated(compiled.asm["ttir"], tuple(compiled.src.signature.items()))
        told = {*tuner.reset_to_zero, *tuner.restore_value}
        tensors = {name: named[name] for name in names if name in named and name not in told}
        return {name: value for name, value in tensors.items() if hasattr(value, "copy_")}
    except Exception:  # whatever a package's own autotuner, the compiler or the GPU has against it
        return {}


@contextlib.contextmanager
def given_back(tensors: Iterable[Any]) -> Iterator[None]:
    """Within the block, tensors may change; then they are as before, if there was memory for that.

    Autograd does not see it, as it does not see a kernel.
    """
    memories = [memory_of(tensor.data) for tensor in tensors]
    try:
        copies = [memory.clone() for memory in memories]
    except RuntimeError:
        copies = []
    try:
        yield
    finally:
        for memory, copy in zip(memories, copies, strict=False):
            memory.copy_(copy)


@functools.lru_cache(maxsize=256)
def _updated(ttir: str, signature: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The parameters that a kernel may both read and write."""
    passed = passed_names(dict(signature))
    reached = reached_arguments(parse_module(_generic(ttir)))
    if reached is None:
        return ()
    return tuple(passed[number] for number in sorted(reached.loaded & reached.stored))


def _generic(ttir: str) -> str:
    """A module's text in MLIR's generic form."""
    context = ir.context()
    ir.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".ttir") as file:
        file.write(ttir)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    module.context = context  # which Triton's own parsing leaves out, too
    return generic_text(module)

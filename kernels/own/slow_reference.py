"""Calls of a file's `reference`: what a slow one gives is kept for the other processes of a study.

The process that opens a study calls it once on the file's own inputs. If that takes long, builders
and later commands get what was computed already, as long as such a first call gives the same.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from foundation.strides import copied
from kernels.own.changeable import Launched
from kernels.own.exact_reference import exact_outputs
from kernels.own.kept_runs import contents_digest, keep_noted, kept_outputs, noted
from kernels.own.launch import Launch
from kernels.own.one_thread import on_one_thread
from kernels.source_digest import source_digest
from kernels.values import current_data_set

__all__ = [
    "Answer",
    "answer",
    "exact_answer",
    "is_slow_reference",
    "on_few_threads",
    "time_reference",
]

_Outputs = Mapping[str, torch.Tensor | None]

# By the clock: to keep what a quicker one gives takes as long as to call it again.
_SLOW_S = 0.25
# What it follows from besides its source, such as a file that it reads, may be another one later.
_FOR_S = 3600.0


@dataclass(frozen=True)
class Answer:
    """What a reference gives, None without one, and how long it took to compute.

    Args:
        outputs: by name.
        took_s: by the clock.
        cpu_s: of processor time.
    """

    outputs: _Outputs | None
    took_s: float
    cpu_s: float


def time_reference(launch: Launch) -> None:
    """Call the reference once on the file's own inputs, note how long it takes, and keep what it
    gives if it is slow.

    Raises:
        UserError: if the file's functions fail.
    """
    if not _is_kept(launch):
        return
    values = launch.values()
    first = _called(launch, values)
    said = first.outputs
    assert said is not None
    given = f"{contents_digest(values)} {contents_digest(said)}"
    keep_noted(_job(launch), {"given": given, "took_s": first.took_s, "cpu_s": first.cpu_s})
    if is_slow_reference(launch):
        _kept(launch, "", values, lambda: said)


def is_slow_reference(launch: Launch) -> bool:
    """Whether `time_reference` found so, in any process."""
    return _noted(launch) is not None


def on_few_threads(launch: Launch) -> contextlib.AbstractContextManager[None]:
    """torch on one thread where `time_reference` found that this takes little time in all."""
    found = _timed(launch)
    is_soon_done = found is not None and found["cpu_s"] < _SLOW_S
    return on_one_thread() if is_soon_done else contextlib.nullcontext()


def answer(launch: Launched, values: Mapping[str, Any]) -> Answer:
    """What the reference gives, computed now or before.

    Args:
        launch: of a kernel or a callable.
        values: of its arguments.

    Raises:
        UserError: if the reference fails.
    """
    if isinstance(launch, Launch) and (found := _noted(launch)) is not None:
        outputs = _kept(launch, "", values, lambda: launch.reference(values) or {})
        return Answer(outputs, float(found["took_s"]), float(found["cpu_s"]))
    return _called(launch, values)


def _called(launch: Launched, values: Mapping[str, Any]) -> Answer:
    start_s, cpu_s = time.monotonic(), time.process_time()
    outputs = launch.reference(values)
    return Answer(outputs, time.monotonic() - start_s, time.process_time() - cpu_s)


def exact_answer(
    launch: Launched, values: Mapping[str, Any], took_s: float
) -> Mapping[str, torch.Tensor]:
    """The same in fp64; see `exact_outputs`."""

    def exact() -> dict[str, torch.Tensor]:
        return exact_outputs(launch.reference, values, took_s)

    if isinstance(launch, Launch) and is_slow_reference(launch):
        found = _kept(launch, "in fp64", values, exact)
        return {name: tensor for name, tensor in found.items() if tensor is not None}
    return exact()


def _kept(
    launch: Launch, way: str, values: Mapping[str, Any], call: Callable[[], _Outputs]
) -> _Outputs:
    """What `call` gives, or gave where the first call gave the same."""
    given = (_noted(launch) or {}).get("given")
    job = repr((_job(launch), given, way, current_data_set()))

    def whole() -> _Outputs:
        return {n: t if t is None else copied(t) for n, t in call().items()}

    return kept_outputs(job, values, whole)


def _noted(launch: Launch) -> dict[str, Any] | None:
    """What `time_reference` noted of a slow one."""
    found = _timed(launch)
    return found if found is not None and found["took_s"] >= _SLOW_S else None


def _timed(launch: Launch) -> dict[str, Any] | None:
    return noted(_job(launch), _FOR_S) if _is_kept(launch) else None


def _is_kept(launch: Launch) -> bool:
    is_here = torch.get_default_device().type == "cpu"
    return is_here and launch.file.optional("reference") is not None


def _job(launch: Launch) -> str:
    digest = _digest_of(launch.file.launch_functions())
    sizes = (*launch.shape.items(), launch.dtype, *launch.config.items())
    return repr((launch.file.load_name, digest, sizes))


@functools.lru_cache(maxsize=8)
def _digest_of(functions: tuple[Callable[..., Any], ...]) -> str:
    return source_digest(functions)

"""Kernels in files of their own, as their authors would write them, beside triton.autotune."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton
from gpu_references import time_s
from gpu_studies import Clocked, clocked, cold_caches

from foundation.triton_options import as_triton_config
from kernels.own.module import import_file
from kernels.registry import load_kernel

__all__ = ["OWN_FILES", "Tuned", "tuned"]

OWN_FILES = sorted(Path(__file__).with_name("gpu_own").glob("*.py"))

_TRIALS = 50  # what a run has by default
_TIMED_DATA = 1  # seed of the data that a study times kernels with


@dataclass(frozen=True)
class Tuned:
    """What a study and `triton.autotune` found for one file; times in seconds.

    Args:
        name: of the kernel.
        study: of its list of configurations.
        study_s: time of the study's winner.
        listed: how many configurations the list has.
        autotune_wall_s: until `triton.autotune` had its choice, from an empty cache.
        autotune_s: time of its choice.
        autotune_config: its choice.
        torch_s: time of torch's functions for the same.
    """

    name: str
    study: Clocked
    study_s: float
    listed: int
    autotune_wall_s: float
    autotune_s: float
    autotune_config: triton.Config
    torch_s: float


def tuned(path: Path) -> Tuned:
    """Tune a file's kernel by a study and by `triton.autotune`, and time torch beside them."""
    spec = load_kernel(str(path))
    storage = cold_caches() / "bench.journal"
    shape, dtype = spec.default_shape, spec.dtypes[0]
    study = clocked(str(path), [shape], dtype, trials=_TRIALS, storage=storage)
    cold_caches()
    own = _OwnFile(path)
    start_s = time.monotonic()
    own.launch(own.kernel)
    torch.cuda.synchronize()
    autotune_wall_s = time.monotonic() - start_s
    chosen = own.kernel.best_config
    return Tuned(
        name=spec.name,
        study=study,
        study_s=own.time_s(as_triton_config(study.winner)),
        listed=len(own.kernel.configs),
        autotune_wall_s=autotune_wall_s,
        autotune_s=own.time_s(chosen),
        autotune_config=chosen,
        torch_s=own.torch_s(),
    )


class _OwnFile:
    """A file's kernel under `triton.autotune`, with its arguments on the GPU."""

    def __init__(self, path: Path) -> None:
        self._module = import_file(path)
        self.kernel: Any = getattr(self._module, f"{path.stem}_kernel")
        make = self._module.arguments
        self._sizes = {
            name: parameter.default
            for name, parameter in inspect.signature(make).parameters.items()
            if name != "dtype"
        }
        torch.manual_seed(_TIMED_DATA)
        with torch.device("cuda"):
            self._arguments = make()

    def launch(self, kernel: Any, **options: object) -> None:
        """Run the kernel once, or have `triton.autotune` choose first."""

        def grid(meta: dict[str, Any]) -> Any:
            return self._module.grid({**self._sizes, **meta})

        kernel[grid](**self._arguments, **options)

    def time_s(self, config: triton.Config) -> float:
        """Seconds of the kernel in one configuration."""
        return time_s(lambda: self.launch(self.kernel.fn, **config.all_kwargs()))

    def torch_s(self) -> float:
        """Seconds of torch's functions for the same, on the same arguments."""
        known = dict(self._arguments)
        with torch.device("cuda"):
            prepare = getattr(self._module, "prepared_for_torch", None)
            if prepare is not None:
                known.update(_call(prepare, known)())
            return time_s(_call(self._module.with_torch, known))


def _call(function: Callable[..., Any], known: dict[str, Any]) -> Callable[[], Any]:
    names = inspect.signature(function).parameters
    return lambda: function(**{name: known[name] for name in names})

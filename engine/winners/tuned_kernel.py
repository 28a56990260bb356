"""`@engine.tuned`: replaces `@triton.autotune` and uses stored winners."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import triton
from triton import knobs
from triton.runtime.autotuner import Autotuner, Heuristics

from engine.run.identity import made_with
from engine.study.location import DEFAULT_STORAGE
from engine.winners.lookup import MAX_KEY_COST, Found, NotTunedError, Wanted, find, spaces_of
from engine.winners.missing import Missing, note_missing
from engine.workers.devices import load_board
from foundation.config import Config
from foundation.errors import UserError
from foundation.shapes import shape_text
from foundation.triton_options import CONFIG_OPTIONS, GPU_OPTIONS, as_triton_config
from kernels.own.choice import chosen_kernel, python_function
from kernels.own.kernel_file import KernelFile
from kernels.own.kernel_path import split_path
from kernels.registry import is_kernel_file, load_kernel
from kernels.source_digest import source_digest
from kernels.spec import OWN_OUTPUTS, with_promises
from kernels.unwrapped import unwrapped
from kernels.values import TORCH_TYPES
from rvv_runner.devices import HOST_DEVICE

__all__ = ["TUNE_VARIABLE", "TunedKernel", "Winners", "tuned"]

# Any value but "" and 0 turns on tuning on a miss.
TUNE_VARIABLE = "TRITON_RVV_TUNE_ON_MISS"

_log = logging.getLogger("triton_rvv_tuner")
_NAMES_OF_TYPES = {str(torch_type): name for name, torch_type in TORCH_TYPES.items()}


@dataclass(frozen=True)
class Winners:
    """Where a decorated kernel's winners are stored, and how to tune a shape without one.

    Args:
        kernel: what to tune: a registered name, or the path of a Python file, followed by
            ":KERNEL" if the file has several; None for the decorated function itself.
        storage: where studies are stored: a journal file or an Optuna storage URL.
        device: the device whose studies are used; kernels called from Python run on the host.
        sizes: maps a size's name in the studies to the kernel's argument, if they differ:
            {"N": "n_elements"}.
        max_key_cost: highest acceptable cost of the power-of-two key, as in `engine.lookup`.
        tune_on_miss: tune a missing shape at once, by `python -m engine.tune` in a separate
            process; the environment variable TRITON_RVV_TUNE_ON_MISS=1 turns it on too.
        trials: configurations to try on a miss.
    """

    kernel: str | None = None
    storage: str = DEFAULT_STORAGE
    device: str = HOST_DEVICE
    sizes: Mapping[str, str] = field(default_factory=dict)
    max_key_cost: float = MAX_KEY_COST
    tune_on_miss: bool = False
    trials: int = 50


_DEFAULT_WINNERS = Winners()


def tuned(
    configs: Sequence[triton.Config],
    key: Sequence[str],
    *,
    winners: Winners = _DEFAULT_WINNERS,
    **options: Any,
) -> Callable[[Any], TunedKernel]:
    """Replaces `@triton.autotune(configs, key, ...)`; measures nothing while the program runs.

    A shape runs with the winner that `engine.lookup` finds in the stored studies. The winner, and
    how far away it was tuned, is logged and kept as `kernel.found`. A shape without a study of its
    own is listed in studies/missing.yaml, which `python -m engine.tune --missing` tunes. If nothing
    is stored, the first of `configs` runs.

    Args:
        configs: as for triton.autotune. Winners outside this list are used too.
        key: names of the arguments that hold the sizes, which must be integers.
        winners: where winners are stored, and what to do on a miss.
        options: the other arguments of triton.autotune, such as prune_configs_by.
    """
    return lambda function: TunedKernel(function, list(configs), list(key), winners, options)


class TunedKernel(Autotuner):  # type: ignore[misc]  # Triton ships no types
    """A kernel that looks up its configuration; called like any other, `kernel[grid](...)`.

    Attributes:
        found: the stored winner that the last call ran with; None if there was none.
        best_config: the configuration that the last call ran with.
    """

    def __init__(
        self,
        function: Any,
        configs: list[triton.Config],
        key: list[str],
        winners: Winners,
        options: Mapping[str, Any],
    ) -> None:
        given = {"reset_to_zero": None, "restore_value": None, **options}
        super().__init__(function, function.arg_names, configs, key, **given)
        self.found: Found | None = None
        self._winners = winners
        self._chosen: dict[object, tuple[triton.Config, Found | None]] = {}

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run with the winner of the arguments' shape.

        Raises:
            UserError: if an argument of `key` is missing or not an integer, or the studies cannot
                be read.
        """
        self.nargs: dict[str, Any] | None = dict(zip(self.arg_names, args, strict=False))
        arguments = {**self.nargs, **kwargs}
        shape, dtype = self._shape(arguments), _first_dtype(arguments)
        place = (*shape.items(), dtype)
        if place not in self._chosen:
            self._chosen[place] = self._choose(shape, dtype, kwargs)
        config, self.found = self._chosen[place]
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**arguments, **config.all_kwargs()})
        self.nargs = None
        return self.fn.run(*args, **kwargs, **config.all_kwargs())

    def _shape(self, arguments: Mapping[str, Any]) -> dict[str, int]:
        names = {argument: size for size, argument in self._winners.sizes.items()}
        shape = {}
        for argument in self.keys:
            value = arguments.get(argument)
            if not isinstance(value, int) or isinstance(value, bool):
                raise UserError(
                    f"the key {argument} of {self._name} is {value!r}: "
                    "key must name integer arguments"
                )
            shape[names.get(argument, argument)] = value
        return shape

    @functools.cached_property
    def _kernel(self) -> str:
        """The kernel as `python -m engine.tune` takes it."""
        if self._winners.kernel is not None:
            return self._winners.kernel
        path = Path(inspect.getfile(self.base_fn)).resolve()
        module = sys.modules[self.base_fn.__module__]
        try:
            alone = python_function(chosen_kernel(path, module)) is self.base_fn
        except UserError:  # the file has several kernels
            alone = False
        return str(path) if alone else f"{path}:{self.base_fn.__name__}"

    @functools.cached_property
    def _name(self) -> str:
        """The kernel's name in studies."""
        kernel = self._winners.kernel
        if kernel is None:
            return str(self.base_fn.__name__).removesuffix("_kernel")
        return load_kernel(kernel).name if is_kernel_file(kernel) else kernel

    @functools.cached_property
    def _source(self) -> str:
        """Digest of the kernel's source, as in studies."""
        if self._winners.kernel is not None:
            return load_kernel(self._winners.kernel).source_digest
        found, heuristics = unwrapped(self.fn), {}
        for decorator in found.decorators:
            if isinstance(decorator, Heuristics):
                heuristics.update(decorator.values)
        function = found.function
        # Importing the file again, as engine.tune does, would run a script twice.
        path, kernel = split_path(self._kernel)
        module = sys.modules[function.__module__]
        file = KernelFile(path, kernel, module, function, self, heuristics)
        return with_promises(
            source_digest([function, *file.launch_functions()]),
            ordered=file.is_ordered,
            kept_inputs=file.kept_inputs,
        )

    def _choose(
        self, shape: Mapping[str, int], dtype: str, kwargs: dict[str, Any]
    ) -> tuple[triton.Config, Found | None]:
        """The configuration for a shape that is called for the first time."""
        found = self._find(shape, dtype)
        if found is None or found.how != "exact":
            missing = Missing(self._kernel, tuple(shape.items()), dtype, self._winners.device)
            note_missing(missing)
            if self._is_asked_to_tune() and self._tune(missing):
                found = self._find(shape, dtype)
        if found is None:
            config = self.prune_configs(kwargs)[0]
            _log.warning("%s at %s: nothing stored, so %s", self._name, shape_text(shape), config)
            return config, None
        level = logging.INFO if found.how == "exact" and not found.differs else logging.WARNING
        _log.log(level, "%s: %s", self._name, found)
        return self._as_listed(found.config), found

    def _find(self, shape: Mapping[str, int], dtype: str) -> Found | None:
        if knobs.runtime.interpret:
            return None  # Triton's interpreter gains nothing from a winner
        info = load_board(self._winners.device).info
        named = self._winners.kernel
        wanted = Wanted(
            kernel=self._name,
            load_name=self._kernel,
            dtype=dtype,
            device=info.study_device,
            device_name=self._winners.device,
            shape=shape,
            made_with=made_with(self._source, info, OWN_OUTPUTS),
            space_at=spaces_of(load_kernel(named), dtype, info) if named else None,
        )
        try:
            found = find(wanted, self._winners.storage, self._winners.max_key_cost)
        except NotTunedError:
            return None
        # The winner may belong to another kernel of this name.
        known = {*self.arg_names, *CONFIG_OPTIONS, *GPU_OPTIONS}
        return found if set(found.config) <= known else None

    def _as_listed(self, config: Config) -> triton.Config:
        """The entry of `configs` with these values, for its other options; else a new one."""
        listed = (entry for entry in self.configs if _is_entry(entry, config))
        return next(listed, None) or as_triton_config(config)

    def _is_asked_to_tune(self) -> bool:
        return self._winners.tune_on_miss or os.environ.get(TUNE_VARIABLE, "0") not in ("", "0")

    def _tune(self, missing: Missing) -> bool:
        """Tune in a separate process; return whether there is a winner now."""
        command = [sys.executable, "-m", "engine.tune", missing.kernel]
        command += ["--shape", shape_text(dict(missing.shape)), "--dtype", missing.dtype]
        command += ["--device", missing.device, "--storage", self._winners.storage]
        command += ["--trials", str(self._winners.trials)]
        _log.warning("%s: tuning on a miss, %d trials", missing, self._winners.trials)
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
            _log.warning("%s was not tuned: %s", missing, last[0])
        return done.returncode == 0


def _is_entry(entry: triton.Config, config: Config) -> bool:
    """Whether an entry of the list has a configuration's values and its options."""
    options = {name: getattr(entry, name) for name in CONFIG_OPTIONS if name in config}
    return bool({**entry.kwargs, **options} == dict(config))


def _first_dtype(arguments: Mapping[str, Any]) -> str:
    """The element type of the first tensor, by Triton's name, as studies store it."""
    for value in arguments.values():
        if hasattr(value, "dtype"):
            name = str(value.dtype)
            return _NAMES_OF_TYPES.get(name) or _NAMES_OF_TYPES.get(f"torch.{name}", name)
    return "fp32"

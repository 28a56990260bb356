"""The configurations that a user's file lists, without duplicates and options without effect."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foundation.config import Config, ParameterValue
from foundation.errors import UserError
from foundation.triton_options import CONFIG_OPTIONS, GPU_OPTIONS, PREFETCH, launch_options
from kernels.own.entries import first_entry, made_entries
from kernels.own.kernel_file import KernelFile
from kernels.own.module import mistakes_of
from kernels.own.other_kernels import asked_for_device

__all__ = ["Listed", "first_values", "listed_configs", "pruned_configs", "tuned_values"]


@dataclass(frozen=True)
class Listed:
    """The configurations of a file.

    Args:
        configs: in the file's order, each once.
        notes: sentences for the user on configurations that were dropped.
    """

    configs: tuple[Config, ...]
    notes: tuple[str, ...]


def listed_configs(file: KernelFile, known: Mapping[str, Any], *, for_gpu: bool = False) -> Listed:
    """The configurations to try.

    Args:
        file: the file that lists them.
        known: sizes and arguments by name, for functions that make or prune the list.
        for_gpu: whether options of the compiler, such as num_warps, have an effect.

    Raises:
        UserError: if there is none, or if their parameters differ or are not the kernel's.
    """
    if file.tuner is not None:
        where, found = "triton.autotune", pruned_configs(file, known)
    else:
        where = file.lister
        why = "which lists the configurations to try"
        found = made_entries(file, file.required(where, why), known)
    options = _options_of(found) if for_gpu else ()
    rows = [tuned_values(file, entry, known, options) for entry in found]
    configs = tuple(dict.fromkeys(rows))
    if not configs:
        raise UserError(f"{file.path} lists no configuration: give at least one")
    for config in configs:
        _check(file, config, configs[0], for_gpu=for_gpu)
    return Listed(configs, _notes(where, found, rows, len(configs)))


def first_values(file: KernelFile) -> Config:
    """What a `config` reads before the list is known, which may depend on what is made with it.

    They are the values of the list's first entry; none if the list cannot be made without sizes.

    Raises:
        UserError: if the function that lists the configurations fails.
    """
    first = first_entry(file, {})
    return Config({} if first is None else first.kwargs)


def pruned_configs(file: KernelFile, known: Mapping[str, Any]) -> list[Any]:
    """The decorator's configurations after its `prune_configs_by`.

    Args:
        file: a file whose kernel is under `triton.autotune`.
        known: sizes and arguments by name.

    Raises:
        UserError: if the pruning fails.
    """
    tuner = file.tuner
    tuner.nargs = {name: known[name] for name in file.function.arg_names if name in known}
    try:
        with mistakes_of(file.path, "fails in prune_configs_by"), asked_for_device():
            return list(tuner.prune_configs(_keywords(tuner)))
    finally:
        tuner.nargs = None  # as after a launch


def _keywords(tuner: Any) -> dict[str, Any]:
    """The **kwargs for `early_config_prune`, which expects the arguments that a call gives by name.

    A call may give any argument by name, and the file does not say which. A performance model gets
    all arguments anyway, and must not get one twice.
    """
    prune = tuner.early_config_prune
    if prune is None or tuner.perf_model is not None:
        return {}
    parameters = inspect.signature(prune).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    positional = list(parameters)[:2]  # the configurations and the arguments
    wanted = tuner.nargs if takes_all else parameters
    return {n: v for n, v in tuner.nargs.items() if n in wanted and n not in positional}


def _options_of(found: Sequence[Any]) -> tuple[str, ...]:
    """The options beside the values of `triton.Config` that the entries set, by their names."""
    unusual = {
        "num_ctas": any(getattr(entry, "num_ctas", 1) != 1 for entry in found),
        "maxnreg": all(getattr(entry, "maxnreg", None) is not None for entry in found),
    }
    return ("num_warps", "num_stages", *(name for name, is_set in unusual.items() if is_set))


def tuned_values(
    file: KernelFile, entry: Any, known: Mapping[str, Any], for_compiler: Sequence[str] = ()
) -> Config:
    """The values of the kernel's own parameters, and options of the compiler.

    A kernel may have a parameter num_stages, for which it takes the option of that name.

    Args:
        file: the kernel's.
        entry: a `triton.Config`.
        known: sizes and arguments by name.
        for_compiler: the options that have an effect; none on a processor.
    """
    names = file.function.arg_names
    values: dict[str, ParameterValue] = entry.kwargs
    lacking = {p.name for p in file.function.params if p.is_constexpr and not p.has_default}
    lacking -= {*values, *known, *file.heuristics}
    options = {n: v for n, v in vars(entry).items() if n in lacking}
    if for_compiler:
        return Config({**values, **{n: getattr(entry, n) for n in for_compiler}, **options})
    dropped = launch_options() - {PREFETCH}
    kept = {n: v for n, v in values.items() if n in names or n not in dropped}
    return Config({**kept, **options})


def _check(file: KernelFile, config: Config, first: Config, *, for_gpu: bool) -> None:
    if set(config) != set(first):
        raise UserError(
            f"{file.path}: the configurations {first} and {config} name different parameters"
        )
    constants = {p.name for p in file.function.params if p.is_constexpr}
    allowed = constants | ({*GPU_OPTIONS, *CONFIG_OPTIONS} if for_gpu else {PREFETCH})
    for name in config:
        if name not in allowed:
            raise UserError(
                f"{file.path}: a configuration has {name}, which is not a tl.constexpr of "
                f"{file.function.__name__}"
            )


def _notes(where: str, found: Sequence[Any], rows: Sequence[Config], left: int) -> tuple[str, ...]:
    """What the user may wonder about: fewer configurations than the file lists, or only one."""
    notes = []
    dropped = _dropped_options(found, rows)
    nothing = "so there is nothing to tune"
    if dropped:
        notes.append(
            f"{len(found) - left} of the {len(found)} configurations in {where} differ from others "
            f"only in {' and '.join(dropped)}, which have no effect on this board: "
            f"{f'1 is left, {nothing}' if left == 1 else f'{left} are left'}"
        )
    elif left == 1:
        notes.append(f"there is one configuration in {where}, {nothing}")
    return tuple(notes)


def _dropped_options(found: Sequence[Any], rows: Sequence[Config]) -> list[str]:
    """Options, such as num_warps, that differ between entries with the same values."""
    first: dict[Config, Mapping[str, Any]] = {}
    dropped: dict[str, bool] = {}
    for entry, row in zip(found, rows, strict=True):
        options = {**vars(entry), **entry.kwargs, "kwargs": None}
        before = first.setdefault(row, options)
        for name, value in options.items():
            dropped[name] = dropped.get(name, False) or value != before.get(name)
    return [name for name, differs in dropped.items() if differs]

"""The search space of a captured kernel: its autotuner's list, or what its constexprs allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from foundation.config import Config, ParameterValue
from foundation.gpu_limits import GpuLimits
from foundation.triton_options import CONFIG_OPTIONS, GPU_OPTIONS
from kernels.captured.freedom import STAGES, Freedom
from kernels.captured.freedom_text import freedom_texts
from kernels.captured.probe import Probed
from search_spaces.gpu.options import launch_options
from search_spaces.space import Parameter, SearchSpace

__all__ = ["captured_space", "deployed_config"]


def deployed_config(
    freedoms: Sequence[Freedom],
    options: Mapping[str, ParameterValue],
    listed: Sequence[Mapping[str, ParameterValue]],
    *,
    for_gpu: bool,
) -> Config:
    """What the program runs, in the parameters of the space.

    Args:
        freedoms: of the constexprs.
        options: of the compiler in the program's launch.
        listed: the entries of the kernel's autotuner, options included; empty without one.
        for_gpu: whether options have an effect.
    """
    deployed = {f.name: f.deployed for f in freedoms if f.deployed is not None}
    varying = {f.name: deployed[f.name] for f in freedoms if _varies(f, for_gpu=for_gpu)}
    if listed:
        names = [name for name in listed[0] if for_gpu or not _is_option(name, deployed)]
        known = {**options, **deployed}
        return Config(varying | {name: known.get(name, listed[0][name]) for name in names})
    names = [n for n in ("num_warps", "num_stages") if for_gpu and n in options]
    return Config({**varying, **{name: options[name] for name in names}})


def captured_space(
    probed: Probed,
    options: Mapping[str, ParameterValue],
    listed: Sequence[Mapping[str, ParameterValue]],
    gpu: GpuLimits | None,
    *,
    is_wide: bool = False,
) -> SearchSpace:
    """The configurations to try; the deployed one is the default.

    Args:
        probed: what may vary.
        options, listed: as in `deployed_config`.
        gpu: of the board; None for a processor, where the compiler's options have no effect.
        is_wide: whether other combinations count than the autotuner's, and other values.
    """
    default = deployed_config(probed.freedoms, options, listed, for_gpu=gpu is not None)
    # A list that differs in options alone leaves blocks open.
    varying = [f for f in probed.freedoms if _varies(f, for_gpu=gpu is not None)]
    is_open = any(len({entry.get(f.name) for entry in listed}) < 2 for f in varying)
    if listed and (is_wide or is_open):
        freedoms = {f.name: f.values for f in probed.freedoms}
        more = gpu if is_wide else None
        named = [Parameter(name, _values(name, listed, freedoms, more)) for name in default]
        space = SearchSpace(tuple(named))
    elif listed:
        configs = [Config({name: entry[name] for name in default}) for entry in listed]
        space = SearchSpace.from_configs([default, *configs])
    else:
        parameters = [Parameter(f.name, f.values) for f in varying]
        space = SearchSpace((*parameters, *(_options(gpu, default) if gpu else ())))
    return replace(space, default=default, notes=_notes(probed, len(space.parameters)))


def _varies(freedom: Freedom, *, for_gpu: bool) -> bool:
    """Whether there are other values to try on a kind of device."""
    return freedom.varies and (for_gpu or not freedom.is_hint)


def _values(
    name: str,
    listed: Sequence[Mapping[str, ParameterValue]],
    freedoms: Mapping[str, tuple[ParameterValue, ...]],
    gpu: GpuLimits | None,
) -> tuple[ParameterValue, ...]:
    """What the autotuner lists for a parameter, and what else may be tried."""
    rows = {entry[name] for entry in listed if name in entry}
    options = launch_options(gpu, stages=STAGES) if gpu else ()
    more = next((o.values for o in options if o.name == name), ()) if name not in freedoms else ()
    return tuple(sorted({*rows, *freedoms.get(name, ()), *more}, key=lambda v: (str(type(v)), v)))


def _is_option(name: str, constants: Mapping[str, ParameterValue]) -> bool:
    return name in (*CONFIG_OPTIONS, *GPU_OPTIONS) and name not in constants


def _options(gpu: GpuLimits, default: Config) -> list[Parameter]:
    """The compiler's options that the program's launch has, with the deployed values."""
    found = []
    for parameter in launch_options(gpu, stages=STAGES):
        if parameter.name in default:
            values = sorted({*parameter.values, default[parameter.name]})
            found.append(Parameter(parameter.name, tuple(values)))
    return found


def _notes(probed: Probed, parameters: int) -> tuple[str, ...]:
    """Sentences for the user."""
    notes = []
    if probed.unseen:
        notes.append(f"its blocks vary as its autotuner lists, if it has one: {probed.unseen}")
    if not parameters:
        texts = freedom_texts(probed.freedoms)
        reasons = "; ".join(f"{text.subject}: {text.why}" for text in texts)
        notes.append(f"no parameter may vary ({reasons or 'the kernel has no constexpr'})")
    if probed.varying:
        notes.append(
            f"the last bits of {' and '.join(probed.varying)} differ from run to run in the "
            "program, too"
        )
    return tuple(notes)

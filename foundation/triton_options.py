"""The options of a kernel that `triton.Config` takes beside the values of its parameters."""

from __future__ import annotations

import dataclasses
import functools
import sys
from typing import TYPE_CHECKING

from foundation.config import Config

if TYPE_CHECKING:
    import triton

__all__ = ["CONFIG_OPTIONS", "GPU_OPTIONS", "PREFETCH", "as_triton_config", "launch_options"]

# Options that Triton's AMD back end accepts among the values of a configuration.
GPU_OPTIONS = ("waves_per_eu", "matrix_instr_nonkdim", "kpack")

# The one option of the compiler that code for a processor differs by: triton_rvv.compiler.
PREFETCH = "PREFETCH"

CONFIG_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


def as_triton_config(config: Config) -> triton.Config:
    """The configuration as `@triton.autotune` lists it."""
    import triton

    values = {name: value for name, value in config.items() if name not in CONFIG_OPTIONS}
    return triton.Config(values, **{n: config[n] for n in CONFIG_OPTIONS if n in config})


@functools.cache
def launch_options() -> frozenset[str]:
    """What a launch may name beside parameters: the options that an installed back end knows."""
    from triton.backends import backends

    modules = [sys.modules[backend.compiler.__module__] for backend in backends.values()]
    options = [
        value
        for module in modules
        for value in vars(module).values()
        if dataclasses.is_dataclass(value) and hasattr(value, "num_warps")
    ]
    names = {field.name for option in options for field in dataclasses.fields(option)}
    return frozenset({*CONFIG_OPTIONS, *GPU_OPTIONS, *names})

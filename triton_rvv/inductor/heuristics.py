"""What the source of Inductor's kernels calls to be compiled, here for the host.

Block sizes stand in the source already (see `triton_rvv.inductor.choices`), but for a few kinds
of kernels, which get those that Inductor would try first on a GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch._inductor.runtime import triton_heuristics

from triton_rvv.inductor.autotuner import HostAutotuner
from triton_rvv.inductor.driver import install_driver

__all__ = [
    "fixed_config",
    "foreach",
    "persistent_reduction",
    "pointwise",
    "reduction",
    "split_scan",
    "template",
    "user_autotune",
]

# A process that compiles kernels knows of this back end only what their source tells it.
install_driver()


def _for_host(make: Callable[..., Any]) -> Callable[..., Any]:
    """One of Inductor's own, whose kernels are compiled and launched by `HostAutotuner`."""

    @functools.wraps(make)
    def make_for_host(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        decorate = make(*args, **kwargs)

        def decorate_for_host(function: Any) -> Any:
            kernel = decorate(function)
            kernel.__class__ = HostAutotuner
            return kernel

        return decorate_for_host

    return make_for_host


fixed_config = _for_host(triton_heuristics.fixed_config)
foreach = _for_host(triton_heuristics.foreach)
persistent_reduction = _for_host(triton_heuristics.persistent_reduction)
pointwise = _for_host(triton_heuristics.pointwise)
reduction = _for_host(triton_heuristics.reduction)
split_scan = _for_host(triton_heuristics.split_scan)
template = _for_host(triton_heuristics.template)
user_autotune = _for_host(triton_heuristics.user_autotune)

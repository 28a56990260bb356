"""Makes `triton.language.extra.cpu.libdevice` what kernels find their mathematics under.

Triton has a module there for each kind of GPU, and programs name it by the kind of their device.
"""

from __future__ import annotations

import sys
from types import ModuleType

__all__ = ["add_cpu_module"]

_NAME = "triton.language.extra.cpu"


def add_cpu_module() -> None:
    """Add the module, unless a Triton with one of its own is installed."""
    from triton.language import extra

    from triton_rvv.frontend import libdevice

    if hasattr(extra, "cpu"):
        return
    module = ModuleType(_NAME, "Functions that kernels on a CPU may call")
    module.__path__ = []
    module.libdevice = libdevice  # type: ignore[attr-defined] # a module takes any attribute
    sys.modules[_NAME] = module
    sys.modules[f"{_NAME}.libdevice"] = libdevice
    extra.cpu = module

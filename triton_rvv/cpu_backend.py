"""What torch asks of Triton before it takes it for usable on a CPU: a back end named "cpu"."""

from __future__ import annotations

import sys

from triton.backends import Backend, backends
from triton.backends.compiler import BaseBackend, GPUTarget

from triton_rvv.driver import RVVDriver

__all__ = ["NamedDriver", "name_backend"]


class NamedDriver(RVVDriver):
    """The host's driver, which never asks to be active: others make it so."""

    def __init__(self) -> None:
        super().__init__("host")

    @classmethod
    def is_active(cls) -> bool:
        return False


class _NoCompiler(BaseBackend):  # type: ignore[misc] # Triton ships no types
    """Compiles for no target, since `triton_rvv.compiler` does that."""

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return False


def name_backend() -> None:
    """Give Triton a back end named "cpu", so that torch's `has_triton` says that there is one.

    Where a fork of Triton has such a back end, this takes its place.
    """
    if getattr(backends.get("cpu"), "driver", None) is NamedDriver:
        return
    backends["cpu"] = Backend(compiler=_NoCompiler, driver=NamedDriver)
    asked = getattr(sys.modules.get("torch.utils._triton"), "has_triton", None)
    if asked is not None:
        asked.cache_clear()

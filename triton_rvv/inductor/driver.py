"""What torch asks of Triton before it makes kernels for a CPU: a back end named "cpu"."""

from __future__ import annotations

from typing import Any

from triton.backends.compiler import BaseBackend, GPUTarget

from triton_rvv.driver import RVVDriver

__all__ = ["install_driver"]


class InductorDriver(RVVDriver):
    """The host's driver, which never asks to be active: torch does so."""

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


def install_driver() -> None:
    """Give Triton a back end named "cpu", as torch calls it, and make it the active one.

    Where a fork of Triton has such a back end, this takes its place.
    """
    from torch.utils._triton import has_triton
    from triton.backends import Backend, backends
    from triton.runtime.driver import driver

    if getattr(backends.get("cpu"), "driver", None) is not InductorDriver:
        backends["cpu"] = Backend(compiler=_NoCompiler, driver=InductorDriver)
        has_triton.cache_clear()
    if not isinstance(_active(driver), InductorDriver):
        driver.set_active(InductorDriver())


def _active(driver: Any) -> Any:
    """The driver that was made active, or None where Triton has yet to look for one."""
    try:
        return driver.active
    except RuntimeError:
        return None

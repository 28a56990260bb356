"""The driver of kernels that torch.compile makes for a CPU."""

from __future__ import annotations

from typing import Any

from triton_rvv.cpu_backend import NamedDriver, name_backend

__all__ = ["install_driver"]


def install_driver() -> None:
    """Give Triton a back end named "cpu", as torch calls it, and make it the active one."""
    from triton.runtime.driver import driver

    name_backend()
    if not isinstance(_active(driver), NamedDriver):
        driver.set_active(NamedDriver())


def _active(driver: Any) -> Any:
    """The driver that was made active, or None where Triton has yet to look for one."""
    try:
        return driver.active
    except RuntimeError:
        return None

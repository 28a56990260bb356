"""Chooses what runs kernels that are called from Python."""

from __future__ import annotations

__all__ = ["activate"]


def activate(target: str) -> None:
    """Make `kernel[grid](...)` run in this process, from now on.

    Args:
        target: "host": this machine's processor, on CPU tensors and NumPy arrays. The environment
            variable `TRITON_RVV_TARGET=host` does the same for a whole program.

    Raises:
        ValueError: for any other target.
    """
    if target != "host":
        raise ValueError(
            f"kernels cannot be called on {target!r} from Python: use 'host', "
            "or compile with triton_rvv.compile_kernel and measure with engine.measure"
        )
    from triton.runtime.driver import driver

    from triton_rvv.driver import RVVDriver

    driver.set_active(RVVDriver())
    RVVDriver.activated = True

"""Chooses what runs kernels that are called from Python."""

from __future__ import annotations

__all__ = ["activate"]


def activate(target: str) -> None:
    """Make `kernel[grid](...)` run on CPU tensors and NumPy arrays, from now on.

    The environment variable `TRITON_RVV_TARGET` does the same for a whole program.

    Args:
        target: "host": this machine's processor, in this process. "rvv128", "rvv256", "rvv512" or
            "rvv1024": a RISC-V core with vectors of so many bits, which QEMU emulates.
            Or the name of a core or a profile, such as "x60" or "rva23"; where its code uses more
            than every core has, QEMU has to be 8.2 or newer.

    Raises:
        ValueError: for any other target.
        RuntimeError: where this project is not installed, and only its folder is in the path.
    """
    from triton.runtime.driver import driver

    from triton_rvv.driver import RVVDriver

    driver.set_active(RVVDriver(target))

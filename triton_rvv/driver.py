"""Triton's driver protocol: kernels that are called from Python run on CPU tensors."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from triton_rvv.imports import when_imported
from triton_rvv.targets.target import RVVTarget
from triton_rvv.targets.target_names import RUNNABLE_TARGETS

__all__ = ["RVVDriver"]

TARGET_VARIABLE = "TRITON_RVV_TARGET"


class RVVDriver(DriverBase):  # type: ignore[misc] # Triton ships no types
    """Runs kernels on CPU tensors and NumPy arrays: in this process, or on a core in QEMU.

    It is Triton's active driver after `triton_rvv.activate(target)` or, where no GPU's driver is
    active, with the environment variable `TRITON_RVV_TARGET=target`.

    Args:
        target: "host", or an RVV target such as "rvv256"; the environment's where not given.

    Raises:
        ValueError: where there is no such target.
        RuntimeError: where Triton does not know the back end.
    """

    runs_here = True  # so do stand-ins that make a driver once something asks for it

    def __init__(self, target: str | None = None) -> None:
        from triton_rvv.frontend.language_extra import add_cpu_module
        from triton_rvv.runtime.device_interface import extend_torch_cpu
        from triton_rvv.runtime.host_device import HostUtils
        from triton_rvv.runtime.host_launch import HostLauncher
        from triton_rvv.runtime.kept_key import keep_key
        from triton_rvv.runtime.numpy_arguments import accept_numpy_arrays
        from triton_rvv.runtime.repeated_calls import remember_calls
        from triton_rvv.targets.target_names import named_target

        super().__init__()
        _check_registered()
        self._name = _checked(target or os.environ[TARGET_VARIABLE])
        self._target = named_target(self._name)
        self.utils: HostUtils
        self.launcher_cls: type[HostLauncher]
        if isinstance(self._target, RVVTarget):
            from triton_rvv.runtime.guest.launch import GuestLauncher, GuestUtils

            self.utils, self.launcher_cls = GuestUtils(self._target), GuestLauncher
        else:
            self.utils, self.launcher_cls = HostUtils(), HostLauncher
        accept_numpy_arrays()
        remember_calls()
        keep_key()
        add_cpu_module()
        extend_torch_cpu()
        when_imported("torch.cuda", _answer)

    @classmethod
    def is_active(cls) -> bool:
        """Whether the program or the environment asks for kernels to run here or in QEMU.

        Raises:
            ValueError: where TRITON_RVV_TARGET is neither a target nor empty.
        """
        from triton.runtime.driver import driver

        name = os.environ.get(TARGET_VARIABLE, "")
        # Programs count the drivers that are, so the one that a program has chosen is, too.
        return (name != "" and _checked(name) == name) or (
            getattr(driver._active, "runs_here", False)
        )

    def map_python_to_cpp_type(self, ty: str) -> str:
        """The C type that holds a value of Triton's type `ty`."""
        return "void*" if ty.startswith("*") else {"fp32": "float", "fp64": "double"}.get(ty, ty)

    def get_current_target(self) -> GPUTarget:
        """This machine's processor, or the emulated core, under the name that torch has for it.

        Programs look for `getattr(torch, target.backend)`, and derive numbers of warps from 32.
        """
        return GPUTarget("cpu", self._name, 32)

    def get_current_device(self) -> str:
        """The key by which Triton keeps compiled kernels: one for each target.

        Programs look them up by `torch.cpu.current_device()` too, which is "cpu".
        """
        return self._name if isinstance(self._target, RVVTarget) else "cpu"

    def set_current_device(self, device: str) -> None:
        """Nothing to choose from."""

    def get_current_stream(self, device: str) -> int:
        """Kernels run one after another, as they are called."""
        return 0

    def get_active_torch_device(self) -> Any:
        """Where tensors have to be."""
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        """What stands in for `torch.cuda` in Triton's own measuring."""
        from triton_rvv.runtime.device_interface import HostDevice

        return HostDevice

    def get_benchmarker(self) -> Callable[..., Any]:
        """Triton's own measuring, by the wall clock."""
        from triton.testing import do_bench

        return do_bench  # type: ignore[no-any-return] # Triton ships no types

    def get_empty_cache_for_benchmark(self) -> Any:
        """An array larger than the caches."""
        from triton_rvv.runtime.host_device import cache_filler

        return cache_filler()

    def clear_cache(self, cache: Any) -> None:
        """Leave nothing else in the caches."""
        cache.zero_()


def _checked(name: str) -> str:
    if name not in RUNNABLE_TARGETS:
        raise ValueError(
            f"kernels cannot be called from Python on {name!r}: name one of "
            f"{', '.join(RUNNABLE_TARGETS)}, with triton_rvv.activate or in {TARGET_VARIABLE}"
        )
    return name


def _check_registered() -> None:
    """Triton finds back ends by what is installed: that this can be imported is not enough."""
    from triton.backends import backends

    if "rvv" not in backends:
        raise RuntimeError(
            "Triton does not know the back end of triton-rvv-tuner, which is not installed in this "
            "environment: run pip install in its folder"
        )


def _answer(cuda: ModuleType) -> None:
    from triton_rvv.runtime.torch_cuda import answer_torch_cuda

    answer_torch_cuda(cuda)


if os.environ.get(TARGET_VARIABLE):
    # Packages ask torch before the first launch, and the driver is made in it.
    when_imported("torch.cuda", _answer)

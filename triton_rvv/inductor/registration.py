"""Tells torch's Inductor that Triton kernels run on the CPU, and how to write them."""

from __future__ import annotations

from typing import Any

__all__ = ["register"]

_TESTED_TORCH = "2.13"


def register() -> None:
    """Make `torch.compile` write Triton kernels for CPU tensors in this process, from now on.

    A function that is compiled with `options={"cpu_backend": "cpp"}` still gets Inductor's C++.

    Raises:
        RuntimeError: where torch is missing, or lacks what is replaced here.
    """
    try:
        import torch._inductor.config as inductor_config
        from torch._inductor.codegen import common
        from torch._inductor.codegen.cpp import CppScheduling
        from torch._inductor.virtualized import V

        from triton_rvv.inductor.choices import HostChoices
        from triton_rvv.inductor.codegen import HostScheduling, HostWrapper
    except (ImportError, AttributeError) as error:
        raise RuntimeError(
            f"torch's Inductor is not the one that this was written for ({error}): "
            f"install torch {_TESTED_TORCH}"
        ) from error
    from triton_rvv.inductor.driver import install_driver

    install_driver()

    def scheduling(scheduler: Any) -> Any:
        kind = HostScheduling if inductor_config.cpu_backend == "triton" else CppScheduling
        return kind(scheduler)

    common.init_backend_registration()
    wrappers = common.device_codegens["cpu"]
    common.register_backend_for_device(
        "cpu",
        scheduling,
        HostWrapper,
        wrappers.cpp_wrapper_codegen,
        wrappers.fx_wrapper_codegen,
    )
    inductor_config.inductor_choices_class = HostChoices
    V.set_choices_handler(HostChoices())
    inductor_config.cpu_backend = "triton"

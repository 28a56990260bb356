"""How Inductor writes a kernel for the host: the dimensions of its blocks, and what it imports."""

from __future__ import annotations

from typing import Any

from torch._inductor import config
from torch._inductor.codegen.simd_kernel_features import SIMDKernelFeatures
from torch._inductor.codegen.triton import TritonKernel, TritonScheduling
from torch._inductor.codegen.triton_split_scan import TritonSplitScanKernel
from torch._inductor.codegen.wrapper import PythonWrapperCodegen

__all__ = ["HostKernel", "HostScheduling", "HostWrapper"]

_HEURISTICS = "from triton_rvv.inductor import heuristics as triton_heuristics\n"


class HostKernel(TritonKernel):
    """A kernel whose source names this package's heuristics.

    Processes that compile it learn so what else they have to do for the host.
    """

    @classmethod
    def gen_common_triton_imports(cls) -> str:  # type: ignore[override] # the other is cached
        return str(super().gen_common_triton_imports()) + _HEURISTICS

    def inductor_meta_per_kernel(self) -> dict[str, Any]:
        # Only a kernel that changes what it was given can get one buffer as two arguments.
        meta: dict[str, Any] = super().inductor_meta_per_kernel()
        return {**meta, "disjoint_arguments": not self.mutations}


class HostSplitScanKernel(TritonSplitScanKernel):
    """A scan in parts, whose programs wait for earlier ones only, as the host runs them."""

    @classmethod
    def gen_common_triton_imports(cls) -> str:  # type: ignore[override] # the other is cached
        return str(super().gen_common_triton_imports()) + _HEURISTICS


class HostScheduling(TritonScheduling):
    """Fuses as for a GPU, and writes kernels for the host."""

    kernel_type: type[Any] = HostKernel

    @classmethod
    def get_tiling_and_scores(cls, *args: Any, **kwargs: Any) -> Any:
        # A dimension of its own for each stride: rows become plain vectors, where an index that is
        # taken apart by division would have to be gathered, element by element.
        with config.patch({"triton.prefer_nd_tiling": True}):
            return super().get_tiling_and_scores(*args, **kwargs)

    def create_kernel_choices(
        self,
        kernel_features: SIMDKernelFeatures,
        kernel_args: list[Any],
        kernel_kwargs: dict[str, Any],
    ) -> list[Any]:
        if any(node.is_split_scan() for node in kernel_features.scheduler_nodes()):
            kernel_kwargs = {**kernel_kwargs, "override_cooperative_reduction": False}
            return [HostSplitScanKernel(*kernel_args, **kernel_kwargs)]
        return list(super().create_kernel_choices(kernel_features, kernel_args, kernel_kwargs))


class HostWrapper(PythonWrapperCodegen):
    """Calls the kernels; users' own Triton kernels are compiled for the host as well."""

    @classmethod
    def _get_triton_info_kernel_cls(cls) -> type[Any]:
        return HostKernel

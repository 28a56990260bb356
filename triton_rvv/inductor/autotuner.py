"""Compiles one kernel of Inductor's for the host."""

from __future__ import annotations

from typing import Any

from torch._inductor.runtime.triton_heuristics import CachingAutotuner

from triton_rvv.inductor.launcher import HostCompileResult
from triton_rvv.targets.host_target import host_target

__all__ = ["HostAutotuner"]


class HostAutotuner(CachingAutotuner):
    """Compiles for the host where Inductor would ask Triton for a target named "cpu"."""

    def _create_compile_meta(self, cfg: Any) -> dict[str, Any]:
        target = host_target()
        meta: dict[str, Any] = super()._create_compile_meta(cfg)
        # Of a target's parts, Inductor takes only the third from the device.
        self.device_props = self.device_props._replace(warp_size=target.vector_bits)
        return {**meta, "device_type": target.backend, "cc": target.cpu}

    def _create_compile_options(self, cfg: Any, compile_meta: dict[str, Any]) -> dict[str, Any]:
        options: dict[str, Any] = super()._create_compile_options(cfg, compile_meta)
        if self.inductor_meta.get("disjoint_arguments"):
            options["disjoint_arguments"] = True
        return options

    def _precompile_config(self, cfg: Any) -> Any:
        result: Any = super()._precompile_config(cfg)
        return HostCompileResult.of(result)

"""Triton's compiler protocol: what the front end reads, and the stages from TTIR to an object."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

from triton.backends.compiler import BaseBackend, GPUTarget

from triton_rvv.target import RVVTarget
from triton_rvv.version import backend_version

__all__ = ["RVVBackend", "RVVOptions"]


@dataclass(frozen=True)
class RVVOptions:
    """Options that Triton's front end reads; the defaults follow what a CPU computes.

    A dot product of float32 is done in float32 ("ieee"), and integers wrap without a check.
    """

    arch: str = "generic-rv64"
    num_warps: int = 1
    num_ctas: int = 1
    num_stages: int = 1
    debug: bool = False
    sanitize_overflow: bool = False
    enable_fp_fusion: bool = True
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee",)
    default_dot_input_precision: str = "ieee"
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e5", "fp8e4nv")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    max_num_imprecise_acc_default: int = 0
    backend_name: str = "rvv"
    ir_override: str | None = None
    extern_libs: tuple[tuple[str, str], ...] = ()
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    instrumentation_mode: str = ""

    def hash(self) -> str:
        """A digest of every option, for Triton's cache."""
        return hashlib.sha256(repr(sorted(asdict(self).items())).encode()).hexdigest()


class RVVBackend(BaseBackend):  # type: ignore[misc] # Triton ships no types
    """RISC-V Vector as a Triton target: `GPUTarget("rvv", cpu, vlen_bits)`."""

    binary_ext = "o"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """Whether this back end makes code for `target`."""
        return bool(target.backend == "rvv")

    def hash(self) -> str:
        """What Triton's cache key has to hold of this back end."""
        return f"rvv-{self.target.arch}-{self.target.warp_size}-{backend_version()}"

    def parse_options(self, options: dict[str, Any]) -> RVVOptions:
        """The options that this back end knows; the ones for other targets are passed over."""
        known = RVVOptions.__dataclass_fields__
        chosen = {name: options[name] for name in known if options.get(name) is not None}
        return RVVOptions(**{"arch": self.target.arch, **chosen})

    def pack_metadata(self, metadata: Any) -> tuple[int, ...]:
        """What a launcher would be handed with each launch."""
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    def get_codegen_implementation(self, options: RVVOptions) -> dict[str, Any]:
        """Hooks of the front end: a dot product may have any size."""
        return {"min_dot_size": lambda lhs, rhs: (1, 1, 1)}

    def get_module_map(self) -> dict[str, ModuleType]:
        """Device-specific modules of the language; there are none."""
        return {}

    def load_dialects(self, context: Any) -> None:
        """TTIR needs no dialect beyond Triton's own."""

    def add_stages(self, stages: dict[str, Any], options: RVVOptions, language: Any) -> None:
        """Fill in the road from TTIR to an object file.

        The modules behind the stages are imported when they run: Triton imports this one while it
        is being imported itself.
        """
        stages["ttir"] = _make_ttir
        stages["llir"] = lambda module, metadata: _make_llir(module, metadata, self._rvv_target)
        stages["o"] = lambda llir, _: _make_object(llir, self._rvv_target)

    @property
    def _rvv_target(self) -> RVVTarget:
        return RVVTarget(vlen_bits=self.target.warp_size, cpu=self.target.arch)


def _make_ttir(module: Any, _: dict[str, Any]) -> Any:
    from triton_rvv.passes import optimise

    optimise(module)
    return module


def _make_llir(module: Any, metadata: dict[str, Any], target: RVVTarget) -> str:
    from triton_rvv.lowering import kernel_name, lower_module
    from triton_rvv.passes import generic_text
    from triton_rvv.ttir import parse_module

    parsed = parse_module(generic_text(module))
    metadata["name"] = kernel_name(parsed)
    metadata["shared"] = 0
    return lower_module(parsed, target)


def _make_object(llir: str, target: RVVTarget) -> bytes:
    from triton_rvv.codegen import generate

    return generate(llir, target).object

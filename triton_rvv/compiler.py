"""Triton's compiler protocol: what the front end reads, and the stages from TTIR to an object."""

from __future__ import annotations

import functools
import hashlib
import os
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

from triton.backends.compiler import BaseBackend, GPUTarget

from foundation.triton_options import launch_options
from triton_rvv.targets.machine import PREFETCHES, Prefetch
from triton_rvv.targets.target import RVVTarget, Target, with_prefetch
from triton_rvv.targets.target_names import called_target
from triton_rvv.version import backend_version

__all__ = ["RVVBackend", "RVVOptions"]


@dataclass(frozen=True)
class RVVOptions:
    """Options that Triton's front end reads; the defaults follow what a CPU computes.

    A dot product of float32 is done in float32 ("ieee"). Integers wrap; with `debug` their sums,
    differences and products are checked, as `tl.device_assert` is, unless `sanitize_overflow` is
    false. `disjoint_arguments` says that different pointer arguments never lead to the same memory.
    `checks_bounds`, or TRITON_RVV_SANITIZE=1 in the environment, makes code that checks each access
    to memory against where the arguments lie. `PREFETCH` is whether code asks for lines ahead of
    their use, "off", "near" or "far"; by default what the target has.
    """

    arch: str = "generic-rv64"
    num_warps: int = 1
    num_ctas: int = 1
    num_stages: int = 1
    debug: bool = False
    sanitize_overflow: bool = False
    enable_fp_fusion: bool = True
    # All are computed as "ieee", which is the most precise.
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    default_dot_input_precision: str = "ieee"
    supported_fp8_dtypes: tuple[str, ...] = (
        *("fp8e5", "fp8e4nv"),
        *("fp8e5b16", "fp8e4b8", "fp8e4b15"),
    )
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    max_num_imprecise_acc_default: int = 0
    backend_name: str = "rvv"
    ir_override: str | None = None
    extern_libs: tuple[tuple[str, str], ...] = ()
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False  # Triton 3.9 passes it with every call
    disjoint_arguments: bool = False
    checks_bounds: bool = False
    PREFETCH: Prefetch | None = None

    def __post_init__(self) -> None:
        """Refuse what Triton's other targets refuse.

        Raises:
            ValueError: for a PREFETCH that there is not.
            AssertionError: where the number of warps is no power of two, although it changes
                nothing on a CPU: the kernel would not run elsewhere.
        """
        if self.num_warps < 1 or self.num_warps & (self.num_warps - 1):
            raise AssertionError(f"num_warps must be a power of 2, and is {self.num_warps}")
        if self.PREFETCH not in (None, *PREFETCHES):
            raise ValueError(f"PREFETCH is {self.PREFETCH}: make it {', '.join(PREFETCHES)}")

    def hash(self) -> str:
        """A digest of every option, for Triton's cache."""
        return hashlib.sha256(repr(sorted(asdict(self).items())).encode()).hexdigest()


class RVVBackend(BaseBackend):  # type: ignore[misc] # Triton ships no types
    """RISC-V Vector and the host as Triton targets.

    They are `GPUTarget("rvv", core, vlen_bits)`, with a core's name as `RVVTarget.named` takes it,
    and `GPUTarget("cpu", name, 32)`, with "host", the machine that this runs on, or an emulated
    core: a name that `triton_rvv.activate` takes.
    """

    binary_ext = "o"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """Whether this back end makes code for `target`."""
        return target.backend in ("rvv", "host", "cpu")

    def hash(self) -> str:
        """What Triton's cache key has to hold of this back end."""
        return f"{self._processor}-{backend_version()}"

    def parse_options(self, options: dict[str, Any]) -> RVVOptions:
        """The options that this back end knows.

        Those for other targets change nothing, and neither does a digest. They are there to be
        found by Triton, which refuses a launch with an option that its back end lacks.
        """
        known = RVVOptions.__dataclass_fields__
        chosen = {name: options[name] for name in known if options.get(name) is not None}
        # Without `debug` the front end would write down the checks and leave out the assertions.
        checks_overflow = chosen.get("debug", False) and chosen.get("sanitize_overflow", True)
        chosen.setdefault("checks_bounds", os.environ.get("TRITON_RVV_SANITIZE") == "1")
        made = RVVOptions(
            **{"arch": self.target.arch, **chosen, "sanitize_overflow": bool(checks_overflow)}
        )
        others = launch_options() - known.keys()
        # A parameter of the kernel may have such a name, too.
        plain = {n: v for n, v in options.items() if isinstance(v, int | float | str | None)}
        vars(made).update({name: value for name, value in plain.items() if name in others})
        return made

    def pack_metadata(self, metadata: Any) -> tuple[int, ...]:
        """What a launcher would be handed with each launch."""
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    def get_codegen_implementation(self, options: RVVOptions) -> dict[str, Any]:
        """Hooks of the front end: a dot product may have any size; float8e4b15 is not MLIR's.

        Imported here for the reason that `get_module_map` gives.
        """
        from triton_rvv.frontend.endless_loops import keep_endless_loops
        from triton_rvv.frontend.float8e4b15 import convert_custom_float
        from triton_rvv.frontend.unsigned_loops import mark_unsigned_loops

        mark_unsigned_loops()
        keep_endless_loops(RVVOptions)
        return {
            "min_dot_size": lambda lhs, rhs: (1, 1, 1),
            "convert_custom_types": convert_custom_float,
        }

    def get_module_map(self) -> dict[str, ModuleType]:
        """Modules of the language that each target has its own of: libdevice, and GPUs' own names.

        Imported here, since it needs the language: Triton imports this module before that is there.
        """
        from triton_rvv.frontend import cuda_language, libdevice

        extra = "triton.language.extra"
        modules = ("libdevice", "cuda.libdevice", "hip.libdevice")
        parts = ("cuda", "cuda.utils", "cuda.gdc")
        return {
            **{f"{extra}.{name}": libdevice for name in modules},
            **{f"{extra}.{name}": cuda_language for name in parts},
        }

    def load_dialects(self, context: Any) -> None:
        """TTIR needs no dialect beyond Triton's own."""

    def add_stages(self, stages: dict[str, Any], options: RVVOptions, language: Any) -> None:
        """Fill in the road from TTIR to an object file.

        The modules behind the stages are imported when they run: Triton imports this one while it
        is being imported itself.
        """
        target = with_prefetch(self._processor, options.PREFETCH)
        stages["ttir"] = _make_ttir
        # An object for a launcher is handed no table of bounds, and nobody looks at its arguments.
        called = self.target.backend != "rvv"
        stages["llir"] = lambda module, data: _make_llir(module, data, target, options, called)
        stages["o"] = lambda llir, _: _make_object(llir, target)

    @property
    def _processor(self) -> Target:
        if self.target.backend == "rvv":
            return RVVTarget.named(self.target.arch, self.target.warp_size)
        return called_target(self.target)


def _make_ttir(module: Any, _: dict[str, Any]) -> Any:
    from triton_rvv.frontend.ttir_passes import optimise

    optimise(module)
    return module


def _make_llir(
    module: Any, metadata: dict[str, Any], target: Target, options: RVVOptions, is_called: bool
) -> str:
    from triton_rvv.frontend.ttir import parse_module
    from triton_rvv.frontend.ttir_passes import generic_text
    from triton_rvv.lowering import lower_module
    from triton_rvv.runtime.host_overlaps import overlap_metadata

    ttir = generic_text(module)
    parsed = parse_module(ttir)
    names = {operation.name for operation in parsed.walk()}
    metadata["prints"], metadata["may_wait"] = "tt.print" in names, "scf.while" in names
    # Of a GPU's bytes of shared memory and threads that go together, which Triton's runtime reads;
    # programs divide by both to find out how many programs run at once.
    metadata["shared"], metadata["warp_size"] = 1, 1
    # Each call from Python finds out whether its arguments overlap.
    is_checked = is_called and not options.disjoint_arguments
    lowered = lower_module(
        parsed,
        target,
        disjoint_arguments=options.disjoint_arguments or is_checked,
        checks_bounds=options.checks_bounds and is_called,
    )
    metadata["name"] = lowered.name
    metadata["argument_types"] = lowered.argument_types
    metadata.update(overlap_metadata(ttir, lowered.apart if is_checked else ()))
    metadata["accesses"] = [(access.text, access.arguments) for access in lowered.accesses]
    return lowered.llir


@functools.lru_cache(maxsize=64)
def _make_object(llir: str, target: Target) -> bytes:
    """LLVM takes most of the time, and lists of autotuners differ in numbers of warps and stages.

    These are in a kernel's metadata, and one that asks for them computes with them, so they are in
    `RVVOptions.hash`; but hardly any code differs.
    """
    from triton_rvv.codegen.llvm import generate

    return generate(llir, target).object

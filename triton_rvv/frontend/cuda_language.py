"""What `triton.language.extra.cuda` is in a kernel: the names there that mean something on a CPU.

Programs for GPUs call them whatever they run on. The others are what they are for GPUs, and are
refused if they are written in a GPU's assembly.
"""

from __future__ import annotations

from typing import Any

from triton.language import core
from triton.language.extra import cuda

from triton_rvv.frontend import libdevice
from triton_rvv.frontend.register_symbols import CORE, NANOSECONDS

__all__ = ["gdc_launch_dependents", "gdc_wait", "globaltimer", "libdevice", "smid"]


@core.extern  # type: ignore[untyped-decorator] # Triton ships no types
def globaltimer(_semantic: Any = None) -> Any:
    """Nanoseconds of a clock that never goes back, as an int64."""
    return _asked(NANOSECONDS, core.int64, _semantic)


@core.extern  # type: ignore[untyped-decorator] # Triton ships no types
def smid(_semantic: Any = None) -> Any:
    """The number of the core that runs the program, as an int32."""
    return _asked(CORE, core.int32, _semantic)


@core.extern  # type: ignore[untyped-decorator] # Triton ships no types
def gdc_wait(_semantic: Any = None) -> None:
    """Wait for the kernel before, which has ended: kernels run one after another."""


@core.extern  # type: ignore[untyped-decorator] # Triton ships no types
def gdc_launch_dependents(_semantic: Any = None) -> None:
    """Allow the next kernel to start, which waits for the end of this one anyway."""


def _asked(symbol: str, type_: Any, semantic: Any) -> Any:
    return core.extern_elementwise(
        "", "", [], {(): (symbol, type_)}, is_pure=False, _semantic=semantic
    )


def __getattr__(name: str) -> object:
    return getattr(cuda, name)

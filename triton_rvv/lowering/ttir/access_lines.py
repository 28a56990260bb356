"""What a kernel's loads and stores were found to be, by the lines that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.passes import run_passes
from triton_rvv.targets.target import Target

__all__ = ["LineAccess", "accesses_by_line"]


@dataclass(frozen=True)
class LineAccess:
    """A load or store of a block.

    Args:
        line: `file:line` of the kernel; "" where it comes from no line.
        is_store: whether it is a store.
        kind: how the elements of a row lie in memory, as of `Access`.
        is_scattered: whether neighbours in a row are not neighbours in memory.
        address: of each element, as people read it.
    """

    line: str
    is_store: bool
    kind: str
    is_scattered: bool
    address: str


def accesses_by_line(ttir: str, target: Target) -> Sequence[LineAccess]:
    """The loads and stores of a kernel in their order.

    Args:
        ttir: Triton's IR in MLIR's generic form.
    """
    module = parse_module(ttir)
    kernel = Kernel(module, target, arguments_are_disjoint=True)
    run_passes(kernel)
    found = ((operation, kernel.accesses.get(operation)) for operation in module.walk())
    return [
        LineAccess(
            operation.line,
            operation.name == "tt.store",
            access.kind,
            access.is_scattered,
            str(access.address),
        )
        for operation, access in found
        if access is not None
    ]

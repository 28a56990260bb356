"""Kernels as functions of arrays and sizes, for programs that know nothing of grids and blocks.

Each file is the plain call of the kernel with its name, in `CALL`. The C library and `engine.ops`
are made from them. fused_moe has none: its lists of rows are padded to the BLOCK_SIZE_M of the
configuration, which a caller does not know.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from foundation.errors import UserError
from kernels.plain_calls.call import PlainCall

__all__ = ["plain_call", "plain_call_names"]


def plain_call_names() -> list[str]:
    """Names of the kernels with a plain call, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "call")


def plain_call(kernel: str) -> PlainCall:
    """The plain call of a registered kernel.

    Raises:
        UserError: if it has none.
    """
    if kernel not in plain_call_names():
        raise UserError(
            f"{kernel} has no plain call, from which a library could be made: "
            f"the kernels with one are {', '.join(plain_call_names())}"
        )
    return cast("PlainCall", importlib.import_module(f"{__name__}.{kernel}").CALL)

"""Finds arguments of a call that share memory, and the code that is right for them.

A kernel's usual code takes some of its arguments to be apart (see
`triton_rvv.lowering.ttir.aliasing`). Each call looks at where these lie. Where two overlap, it runs
other code, which is compiled when it is first needed, and kept beside the usual one in Triton's
cache.
"""

from __future__ import annotations

import base64
import math
import threading
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from triton.runtime.jit import TensorWrapper

from triton_rvv.codegen.llvm import generate
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering import lower_module
from triton_rvv.lowering.ttir.aliasing import Apart
from triton_rvv.targets.target_names import called_target

__all__ = ["OverlapCheck", "overlap_metadata"]


def overlap_metadata(ttir: str, apart: Sequence[Apart]) -> dict[str, Any]:
    """What has to be kept with a compiled kernel, so that calls can be checked.

    Args:
        ttir: the kernel in MLIR's generic form.
        apart: the arguments that its code takes to be apart.
    """
    packed = base64.b64encode(zlib.compress(ttir.encode())).decode() if apart else ""
    pairs = [(pair.loaded, pair.stored, pair.may_be_equal) for pair in apart]
    return {"apart": pairs, "packed_ttir": packed}


class OverlapCheck:
    """Chooses the code that is right for the arguments of a call.

    Args:
        metadata: of the compiled kernel, with the entries of `overlap_metadata`.
        load: makes a kernel that can be run of an object file.
    """

    def __init__(self, metadata: Any, load: Callable[[bytes], Any]) -> None:
        self._metadata = metadata
        self._load = load
        self._apart: list[tuple[int, int, bool]] = [tuple(pair) for pair in metadata.apart]
        self._lock = threading.Lock()
        self._loaded: Any = None

    def choose(self, kernel: Any, arguments: Sequence[Any], slots: Sequence[int | float]) -> Any:
        """`kernel`, or other code where arguments overlap that it takes to be apart.

        Args:
            kernel: the fast code.
            arguments: of the compiled function, tensors and numbers.
            slots: what it is handed for each of them; of a tensor, the address.
        """
        for loaded, stored, may_be_equal in self._apart:
            if slots[loaded] < slots[stored]:
                lower, upper = loaded, stored
            elif slots[loaded] == slots[stored] and may_be_equal:
                continue
            else:
                lower, upper = stored, loaded
            first, second = arguments[lower], arguments[upper]
            try:
                storage = first.untyped_storage()
                end: float = storage.data_ptr() + storage.nbytes()
            except AttributeError:
                end = _end(first)
            if end > slots[upper] or (
                type(first) is not type(second) and _end(second) == math.inf
            ):  # the upper one may begin before its address
                return self._for_overlaps()
        return kernel

    def _for_overlaps(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load(self._object())
            return self._loaded

    def _object(self) -> bytes:
        """The other code as an object file, from Triton's cache or compiled and put there."""
        from triton.runtime.cache import get_cache_manager

        cache = get_cache_manager(self._metadata.hash)
        name = f"{self._metadata.name[:150]}.overlaps.o"
        path = cache.get_file(name)
        if path is not None:
            return Path(path).read_bytes()
        ttir = zlib.decompress(base64.b64decode(self._metadata.packed_ttir)).decode()
        target = called_target(self._metadata.target)
        checks_bounds = self._metadata.checks_bounds
        lowered = lower_module(parse_module(ttir), target, checks_bounds=checks_bounds)
        compiled = generate(lowered.llir, target)
        cache.put(compiled.object, name)
        return compiled.object


def _end(tensor: Any) -> float:
    """The address behind the memory that a tensor is a part of.

    Kernels reach beyond a view of a tensor, but not beyond its storage. Of what has no storage
    nothing is known.
    """
    try:
        storage = tensor.untyped_storage()
        end: float = storage.data_ptr() + storage.nbytes()
    except AttributeError:
        return _end(tensor.base) if isinstance(tensor, TensorWrapper) else math.inf
    return end

"""Builds the smallest kernel for a board and runs it there: the proof that everything works."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rvv_runner.board import Board
from rvv_runner.measurement import Measurement

__all__ = ["try_vector_add"]

_LIMIT_S = 60.0
_REPEATS = 3


def try_vector_add(board: Board) -> Measurement:
    """What the vector addition measures on `board`, which is open.

    The first build on a machine waits a minute for the linker's libc.
    """
    # Triton takes seconds to import, and nothing else of the check needs it.
    from engine.artifacts import ArtifactStore, BuildFailure
    from engine.kernel_builder import BuildRequest, KernelBuilder
    from kernels.registry import load_kernel

    spec = load_kernel("vector_add")
    with tempfile.TemporaryDirectory(prefix="check-") as folder:
        store = ArtifactStore(Path(folder))
        dtype, target = spec.dtypes[0], board.info.target
        request = BuildRequest(spec.name, spec.default_shape, dtype, target, store)
        builder = KernelBuilder(request)
        default = spec.default_config
        assert not callable(default)
        built = builder.build(default)
        if isinstance(built, BuildFailure):
            return Measurement(status="compile", reason=built.reason, board=board.info.name)
        return board.measure(built, _REPEATS, _LIMIT_S)

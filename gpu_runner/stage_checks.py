"""Ends a compilation between Triton's stages once its code is known not to run, or to spill.

Triton's last stages take most of the time, and up to a minute where registers are spilled.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from foundation.gpu_limits import GpuLimits
from gpu_runner.errors import GpuCompileError

__all__ = ["carried_registers", "check_shared", "stage_checks"]

# The types of what a loop carries from step to step, as MLIR prints them: layouts have braces, too.
_CARRIED = re.compile(r"\bscf\.(?:for|while)\b[^\n]*?->([^\n]*)\{$", re.MULTILINE)
# Floats, and the integer sums of a product.
_BLOCK = re.compile(r"tensor<((?:\d+x)+)(?:b?f(\d+)\w*, #|i(\d+), #mma)")
# Of a program: its clusters' parts, the warps of one, and the threads of these.
_THREADS = re.compile(r'"ttg\.(?:num-ctas|num-warps|threads-per-warp)" = (\d+)')
_REGISTER_BITS = 32

# Triton's hook is one for the whole process.
_HOOK_LOCK = threading.Lock()

_Stage = Callable[[Any, dict[str, Any]], Any]


@contextmanager
def stage_checks(limits: GpuLimits | None, *, may_spill: bool) -> Iterator[None]:
    """Check what `triton.compile` makes in this block, by Triton's hook for its stages.

    Args:
        limits: of the GPU; None for no checks.
        may_spill: whether loops may carry more than the registers hold.

    Raises:
        GpuCompileError: in the block, if a program needs more shared memory than there is, or may
            not spill and would in each step of a loop.
    """
    from triton import knobs

    if limits is None:
        yield
        return

    def hook(*given: Any) -> tuple[str, str]:
        if given:
            stages: dict[str, _Stage] = given[1]
            names = list(stages)
            at = names.index("llir")
            stages["llir"] = _after_check(stages["llir"], check_registers)
            stages[names[at + 1]] = _after_check(stages[names[at + 1]], check_memory)
        # Triton asks without arguments what its cache has to tell apart: code that passes is equal.
        return "", ""

    def check_registers(module: Any, _metadata: Mapping[str, Any]) -> None:
        needed = 0 if may_spill else carried_registers(str(module))
        if needed > limits.registers_per_thread:
            raise GpuCompileError(
                f"a loop carries {needed} registers per thread from step to step, and there are "
                f"{limits.registers_per_thread}: more warps or smaller blocks need fewer"
            )

    def check_memory(_module: Any, metadata: Mapping[str, Any]) -> None:
        check_shared(limits, metadata["shared"])

    with _HOOK_LOCK:
        before = knobs.runtime.add_stages_inspection_hook
        knobs.runtime.add_stages_inspection_hook = hook
        try:
            yield
        finally:
            knobs.runtime.add_stages_inspection_hook = before


def check_shared(limits: GpuLimits, shared_bytes: int) -> None:
    """Check what a program takes of shared memory.

    Raises:
        GpuCompileError: if there is less.
    """
    if shared_bytes > limits.shared_bytes:
        raise GpuCompileError(
            f"it needs {shared_bytes} bytes of shared memory, and a program on "
            f"{limits.name} has at most {limits.shared_bytes}"
        )


def _after_check(stage: _Stage, check: Callable[[Any, Mapping[str, Any]], None]) -> _Stage:
    def checked(module: Any, metadata: dict[str, Any]) -> Any:
        check(module, metadata)
        return stage(module, metadata)

    return checked


def carried_registers(ttgir: str) -> int:
    """The registers of a thread for the numbers that a loop carries, in the loop with the most.

    Blocks of pointers and of offsets do not count: they are mostly one number and known distances.

    Args:
        ttgir: the text of a module in Triton's dialect for GPUs.
    """
    bits = max((_bits(types) for types in _CARRIED.findall(ttgir)), default=0)
    threads = math.prod(int(count) for count in _THREADS.findall(ttgir))
    return bits // _REGISTER_BITS // threads


def _bits(types: str) -> int:
    return sum(
        math.prod(map(int, sizes.split("x")[:-1])) * int(float_bits or integer_bits)
        for sizes, float_bits, integer_bits in _BLOCK.findall(types)
    )

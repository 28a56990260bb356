"""What packages ask `torch.cuda` around a launch, whatever device their tensors are on."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from triton_rvv.runtime.device_interface import HostDevice

__all__ = ["answer_torch_cuda"]

# Without a GPU, torch raises an exception in each of them, which torch itself goes by. What says
# whether there is one, such as `is_available` and `device_count`, stays torch's own, too: programs
# place their tensors by it.
_ASKED = (
    *("current_device", "current_stream", "get_device_capability", "get_device_name"),
    *("get_device_properties", "is_current_stream_capturing", "mem_get_info"),
    *("set_device", "synchronize"),
)


def answer_torch_cuda(cuda: ModuleType) -> None:
    """Have this machine answer for the GPU where there is none.

    Launchers of packages hold `with torch.cuda.device(tensor.device.index):` around a launch, and
    choose grids and blocks by the properties of the device.

    Args:
        cuda: `torch.cuda`.
    """
    if getattr(cuda.device.__init__, "answers", False):
        return
    # By their number: to have its kernels launched, a program may say that one is available.
    has_gpu = functools.cache(lambda: cuda.device_count() > 0)
    for name in _ASKED:
        setattr(cuda, name, _without_gpu(has_gpu, getattr(cuda, name), getattr(HostDevice, name)))
    cuda.device.__init__ = _without_gpu(has_gpu, cuda.device.__init__, _no_device)


def _no_device(entered: Any, device: object) -> None:
    """What `torch.cuda.device` of a negative number is: nothing is changed."""
    entered.idx = entered.prev_idx = -1


def _without_gpu(
    has_gpu: Callable[[], bool], own: Callable[..., Any], answer: Callable[..., Any]
) -> Callable[..., Any]:
    @functools.wraps(own)
    def answered(*args: Any, **kwargs: Any) -> Any:
        is_torch = sys._getframe(1).f_globals.get("__name__", "").split(".")[0] == "torch"
        return (own if is_torch or has_gpu() else answer)(*args, **kwargs)

    answered.answers = True  # type: ignore[attr-defined]
    return answered

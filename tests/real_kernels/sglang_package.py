"""The part of SGLang that holds kernels, where no GPU is."""

from __future__ import annotations

from partial_packages import PartialPackage

__all__ = ["SGLANG"]

SGLANG = PartialPackage(
    "sglang",
    real=["sglang.kernels.ops"],
    values={
        f"sglang.srt.utils:is_{device}": lambda: False
        for device in ("cpu", "cuda", "hip", "hpu", "musa", "npu", "xpu")
    }
    | {
        "sglang.srt.utils:get_device_core_count": lambda *_: 2,
        "sglang.srt.utils.common:torch_release": (2, 8),
    },
    third_party=["einops", "regex", "sgl_kernel", "flashinfer"],
)

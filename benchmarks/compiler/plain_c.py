"""Builds the kernels of `plain_kernels.c` as artifacts for any board."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import launchers
from kernels.spec import Problem
from launchers.data_file import write_data_file
from launchers.objects import launcher_object
from rvv_runner import ElfArtifact
from triton_rvv.codegen.link import link_elf
from triton_rvv.codegen.zig import run_zig_cc
from triton_rvv.targets.target import RVVTarget

__all__ = ["FLAG_SETS", "PLAIN_KERNELS", "build_plain_kernel"]

TIMEOUT_S = 120.0
_TARGET = ("-std=c11", "-mcpu=baseline_rv64+v+zvl256b+zba+zbb+zbs")
FLAG_SETS = (
    ("-O3",),
    ("-O3", "-ffast-math"),
    ("-O3", "-ffast-math", "-mllvm", "-riscv-v-register-bit-width-lmul=4"),
)
PLAIN_KERNELS = (
    *("matmul", "vector_add", "softmax", "cross_entropy", "layernorm_fwd", "layernorm_bwd"),
    *("rope_fwd", "rope_bwd", "dropout", "correlation", "resize", "warp", "jacobi"),
    *("rms_norm", "swiglu", "group_norm", "rope_pairs", "argmax_rows", "cumsum_rows", "histogram"),
    *("blur", "quantize_rows", "column_sums", "transpose", "embedding"),
    *("add_rms_norm", "adamw", "cosine_similarity", "embedding_bag", "top_k", "prefix_max"),
    *("complex_multiply", "gray_of_rgb", "planes_to_rgb", "sobel", "bilinear", "mandelbrot"),
    *("popcount", "classify_bytes", "dequantize_int4", "dequantize_fp8", "sort_rows"),
    *("scatter_counts", "bias_relu", "enlarge", "shift_image", "dequantize_groups"),
    *("softmax_backward", "fir", "laplace_3d", "welford", "max_pool", "huber", "matvec"),
    *("mish", "rms_norm_quantize", "quantize_groups", "smooth_nll", "l2_normalize"),
    *("upsample_planes", "pixel_shuffle", "unpack_bits", "mono_of_stereo", "rgb_of_yuv"),
    *("pad_reflect", "reverse_rows", "depthwise_conv", "nhwc_of_nchw", "im2col"),
)


def build_plain_kernel(problem: Problem, flags: Sequence[str], folder: Path) -> ElfArtifact:
    """The artifact of one of PLAIN_KERNELS, compiled by zig's clang.

    Args:
        problem: the kernel at a shape, in its first type; gives data and expected outputs.
        flags: besides those of the core.
        folder: for the files that are written.
    """
    source, output = Path(__file__).with_name("plain_kernels.c"), folder / "plain.o"
    include = Path(launchers.__file__).parent
    sizes = f"-DSIZES={','.join(map(str, problem.shape.values()))}"
    what = [f"-DKERNEL={problem.spec.name}", sizes, f"-I{include}", str(source), "-o", str(output)]
    run_zig_cc(["-c", *_TARGET, *flags, *what], timeout_s=TIMEOUT_S)
    elf, data = folder / "plain.elf", folder / "plain.data"
    link_elf([output, launcher_object(RVVTarget())], elf)
    # The inputs of the check may hold infinities, which -ffast-math leaves out of account.
    write_data_file(data, problem.timed_arguments(problem.default_config))
    digest = hashlib.sha256(elf.read_bytes()).hexdigest()
    grid = (1, 1, problem.shape["D"] if problem.spec.name == "correlation" else 1)
    return ElfArtifact(elf, digest, data, grid, RVVTarget().vlen_bits)

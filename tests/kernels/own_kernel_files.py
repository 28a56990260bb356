"""Files as users write them for kernels of their own, as text."""

HEAD = """import torch
import triton
import triton.language as tl
"""
# Twice x; with PLUS, wrongly, one more.
TWICE = (
    HEAD
    + """
@triton.jit
def twice_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, PLUS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, 2 * x + (1 if PLUS else 0), mask=at < n)

def get_twice_kernel_autotune_config():
    return [triton.Config({"BLOCK": 64, "PLUS": False}), triton.Config({"BLOCK": 64, "PLUS": True})]

def arguments(N=200):
    return {"x_ptr": torch.randn(N), "out_ptr": torch.empty(N), "n": N}

def grid(meta):
    return triton.cdiv(meta["N"], meta["BLOCK"]), 1
"""
)
# As the source documents write kernels: no decorator, and triton-cpu's num_threads.
PRODUCT = (
    HEAD
    + """
GROUP_SIZE_M = 2

def product_kernel(a_ptr, b_ptr, c_ptr, M, N, K,
                   BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
                   BLOCK_SIZE_K: tl.constexpr, GROUP_SIZE_M: tl.constexpr, FLAG: tl.constexpr):
    m = tl.program_id(0) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    n = tl.program_id(1) * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), tl.float32)
    for first in range(0, K, BLOCK_SIZE_K):
        k = first + tl.arange(0, BLOCK_SIZE_K)
        a = tl.load(a_ptr + m[:, None] * K + k, mask=(m[:, None] < M) & (k < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m[:, None] * N + n, total, mask=(m[:, None] < M) & (n < N))

def get_product_kernel_autotune_config(num_threads=0):
    blocks = [(8, 16), (4, 8), (8, 16)]
    return [triton.Config({"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": 8,
                           "GROUP_SIZE_M": GROUP_SIZE_M, "FLAG": False}, num_threads=num_threads)
            for m, n in blocks]

def arguments(M, N, K):
    return {"a_ptr": torch.randn(M, K), "b_ptr": torch.randn(K, N), "c_ptr": torch.empty(M, N),
            "M": M, "N": N, "K": K}

def grid(meta):
    return [triton.cdiv(meta[name], meta[f"BLOCK_SIZE_{name}"]) for name in "MN"]

def reference(a_ptr, b_ptr):
    return {"c_ptr": a_ptr @ b_ptr}
"""
)
# As Triton's users write them: decorated, pruned, with a heuristic, adding to what is there.
DECORATED = (
    HEAD
    + """
def prune(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK"] <= named_args["n"]]

@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=4) for block in (32, 64, 128, 1024)],
    key=["n"],
    prune_configs_by={"early_config_prune": prune},
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def sum_into(x_ptr, total_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(x_ptr + at)
    else:
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.atomic_add(total_ptr, tl.sum(x))

def arguments(N=160, dtype=torch.float32):
    return {"x_ptr": torch.rand(N), "total_ptr": torch.ones(1), "n": N}

grid = lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)

def reference(x_ptr, total_ptr):
    return {"total_ptr": total_ptr + x_ptr.sum()}

def flops(N):
    return N
"""
)
# Padding that follows the configuration, so there is an expected output for each.
PADDED = (
    HEAD
    + """
@triton.jit
def padded_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + 1)

def get_padded_kernel_autotune_config():
    return [triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64})]

def arguments(config, N=70):
    rows = triton.cdiv(N, config.get("BLOCK", 1))
    x = torch.zeros(rows * config.get("BLOCK", 1))
    x[:N] = torch.randn(N)
    return {"x_ptr": x, "out_ptr": torch.empty_like(x)}

def grid(meta):
    return meta["x_ptr"].numel() // meta["BLOCK"]

def reference(x_ptr):
    return {"out_ptr": x_ptr + 1}
"""
)

WITH_SPEC = (
    HEAD
    + """
from dataclasses import replace
from kernels.spec import KernelSpec
from kernels.values import input_array, output_array, seeded_normal
from foundation.config import Config
from search_spaces.space import SearchSpace

@triton.jit
def twofold_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at))

def _arguments(problem, config):
    x = seeded_normal((64,), 0)
    return input_array("x_ptr", x), output_array("out_ptr", 2 * x)

SPEC = KernelSpec(
    name="twofold", kernel=twofold_kernel, default_shape={}, default_config=Config({"BLOCK": 16}),
    dtypes=("fp32",), arguments=_arguments, grid=lambda p, config: (64 // config["BLOCK"], 1, 1),
    traffic_bytes=lambda problem: 512,
)

def space(problem, board):
    configs = [{"BLOCK": block} for block in (8, 16, 32)]
    return replace(SearchSpace.from_configs(configs), default=problem.default_config)
"""
)

# As real projects pass what may be missing: a pointer that is None, and a heuristic that asks.
OPTIONAL = (
    HEAD
    + """
@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 16})], key=["n"])
@triton.heuristics({"HAS_BIAS": lambda args: args["bias_ptr"] is not None})
@triton.jit
def plus_bias_kernel(x_ptr, bias_ptr, out_ptr, n, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    if HAS_BIAS:
        x += tl.load(bias_ptr + at, mask=at < n)
    if bias_ptr is None:
        x = 2 * x
    tl.store(out_ptr + at, x, mask=at < n)

def arguments(N=200):
    return {"x_ptr": torch.randn(N), "bias_ptr": GIVEN, "out_ptr": torch.empty(N), "n": N}

def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)

def reference(x_ptr, bias_ptr):
    return {"out_ptr": 2 * x_ptr if bias_ptr is None else x_ptr + bias_ptr}
"""
)

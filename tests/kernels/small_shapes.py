"""Shapes of each kernel for tests: one that no block divides, and one that blocks fill."""

from __future__ import annotations

__all__ = ["EVEN", "RAGGED"]

RAGGED = {
    "batched_matmul": {"B": 2, "M": 33, "N": 17, "K": 21},
    "correlation": {"C": 5, "H": 7, "W": 37, "D": 5},
    "cross_entropy": {"M": 13, "N": 77},
    "dropout": {"N": 1500},
    "flash_attention_fwd": {"H": 2, "N_CTX": 37, "D_HEAD": 24},
    "flash_attention_fwd_causal": {"H": 2, "N_CTX": 37, "D_HEAD": 24},
    "fused_moe": {"M": 33, "E": 5, "N": 17, "K": 37},
    "gemm_a8w8_blockscale": {"M": 17, "N": 150, "K": 150},
    "jacobi": {"M": 13, "N": 77},
    "layernorm_bwd": {"M": 13, "N": 77},
    "layernorm_fwd": {"M": 5, "N": 77},
    "matmul": {"M": 33, "N": 17, "K": 65},
    "persistent_matmul": {"M": 33, "N": 17, "K": 65},
    "resize": {"C": 2, "H": 7, "W": 37},
    "rope_bwd": {"TOKENS": 7, "HEADS": 3, "HEAD_SIZE": 20},
    "rope_fwd": {"TOKENS": 7, "HEADS": 3, "HEAD_SIZE": 20},
    "softmax": {"M": 5, "N": 77},
    "split_k_matmul": {"M": 5, "N": 17, "K": 165},
    "vector_add": {"N": 1500},
    "warp": {"C": 2, "H": 7, "W": 37},
}
EVEN = {
    "batched_matmul": {"B": 2, "M": 32, "N": 32, "K": 32},
    "correlation": {"C": 4, "H": 8, "W": 32, "D": 3},
    "cross_entropy": {"M": 8, "N": 64},
    "dropout": {"N": 2048},
    "flash_attention_fwd": {"H": 2, "N_CTX": 64, "D_HEAD": 32},
    "flash_attention_fwd_causal": {"H": 2, "N_CTX": 64, "D_HEAD": 32},
    "fused_moe": {"M": 32, "E": 4, "N": 32, "K": 32},
    "gemm_a8w8_blockscale": {"M": 16, "N": 128, "K": 256},
    "jacobi": {"M": 16, "N": 64},
    "layernorm_bwd": {"M": 16, "N": 64},
    "layernorm_fwd": {"M": 16, "N": 64},
    "matmul": {"M": 32, "N": 32, "K": 64},
    "persistent_matmul": {"M": 32, "N": 32, "K": 64},
    "resize": {"C": 2, "H": 8, "W": 64},
    "rope_bwd": {"TOKENS": 8, "HEADS": 4, "HEAD_SIZE": 32},
    "rope_fwd": {"TOKENS": 8, "HEADS": 4, "HEAD_SIZE": 32},
    "softmax": {"M": 8, "N": 64},
    "split_k_matmul": {"M": 16, "N": 32, "K": 256},
    "vector_add": {"N": 2048},
    "warp": {"C": 2, "H": 8, "W": 32},
}

"""The search spaces of ROCm's tune_gemm, with its rules."""

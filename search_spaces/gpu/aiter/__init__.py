"""The search spaces of AITER's tuning scripts, for its kernels."""

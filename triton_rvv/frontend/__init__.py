"""From a `@triton.jit` function to TTIR in plain Python objects."""

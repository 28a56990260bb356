"""Measures a core with micro-kernels, and makes a cost table of what they say."""

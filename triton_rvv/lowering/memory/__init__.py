"""Loads, stores, atomics and prefetches."""

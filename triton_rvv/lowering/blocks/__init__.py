"""Blocks of elements: how each is computed, where it is kept, and how the handlers share it."""

"""The search: which configuration to try next, and what its outcome teaches."""

from engine.search.search import Search

__all__ = ["Search"]

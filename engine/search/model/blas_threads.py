"""How many threads linear algebra has in models of the search: one."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager

import scipy.linalg  # noqa: F401  # so that its library is loaded before libraries are looked for
from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


def one_blas_thread() -> AbstractContextManager[object]:
    """The matrices are small, and more threads would compete with builds and boards."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _libraries() -> ThreadpoolController:
    """NumPy's and SciPy's; to find them among all that a process has loaded takes milliseconds."""
    return ThreadpoolController()

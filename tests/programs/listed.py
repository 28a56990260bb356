"""The programs of `sixty/`, read without the packages that they import."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

__all__ = ["FILES", "listed"]

FOLDER = Path(__file__).parent / "sixty"
FILES = (
    *("liger", "linear_attention", "gems", "sloth", "quantised"),
    *("vllm_operators", "sglang_operators", "torch_kernels"),
)


def listed() -> list[tuple[str, Any]]:
    """Each program with the name of its file, in the order of the list."""
    sys.path.insert(0, str(FOLDER))
    try:
        found = []
        for name in FILES:
            user = importlib.import_module("user")
            before = len(user.PROGRAMS)
            spec = importlib.util.spec_from_file_location(f"sixty_{name}", FOLDER / f"{name}.py")
            assert spec is not None
            assert spec.loader is not None
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
            found += [(name, program) for program in user.PROGRAMS[before:]]
        return found
    finally:
        sys.path.remove(str(FOLDER))

"""The Python files that a sampler of the user's is made of."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["digest_of_file", "digest_of_package"]

_INSTALLED = ("site-packages", "dist-packages")  # folders whose packages do not belong together


def digest_of_file(path: Path) -> str:
    """The SHA-256 digest of a file, and of what it imports from its own folder, and so on."""
    return _digest(_with_imports([path], path.parent))


def digest_of_package(module: str) -> str:
    """The SHA-256 digest of the package that holds a module, and of what it imports beside it."""
    spec = importlib.util.find_spec(module.partition(".")[0])
    if spec is None:
        return ""
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if folders:
        files = [path for folder in folders for path in _files_of(folder)]
        beside = folders[0].parent
    else:
        files = [Path(spec.origin)] if spec.has_location and spec.origin else []
        beside = files[0].parent if files else Path()
    return _digest(files if beside.name in _INSTALLED else _with_imports(files, beside))


def _with_imports(files: Sequence[Path], beside: Path) -> set[Path]:
    """Files, and those in a folder that they import, directly or not."""
    found: set[Path] = set()
    left = list(files)
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += [file for name in _imported_by(path) for file in _found_at(beside / name)]
    return found


def _imported_by(path: Path) -> set[str]:
    """The first parts of the names that a file imports; none if it is not Python."""
    try:
        nodes = ast.walk(ast.parse(path.read_bytes()))
    except (SyntaxError, ValueError):
        return set()
    names: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return {name.partition(".")[0] for name in names}


def _found_at(path: Path) -> list[Path]:
    """The files of a package, or of a module, at a path without its suffix."""
    if path.is_dir():
        return _files_of(path)
    module = path.with_suffix(".py")
    return [module] if module.is_file() else []


def _files_of(package: Path) -> list[Path]:
    return [path for path in package.rglob("*.py") if path.is_file()]


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]

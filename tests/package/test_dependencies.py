"""Whatever is imported is a dependency in pyproject.toml, not one of a dependency's own."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
PACKAGES = [
    package
    for package in SETTINGS["tool"]["importlinter"]["root_packages"]
    if package != "benchmarks"
]
# What is imported only where the extra named here is installed, and the package it comes from.
OPTIONAL = {
    "constraint": ("bench", "python-constraint2"),
    "kernel_tuner": ("bench", "kernel-tuner"),
    "pynvml": ("gpu", "nvidia-ml-py"),
}
WITH_ROCM = {"amdsmi"}  # in the version of ROCm's own library
PINNED = (REPOSITORY / "constraints.txt").read_text()


def plain(name: str) -> str:
    """As PyPI compares names, without a version."""
    return re.split("[<>=~! ]", name)[0].lower().replace("_", "-")


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(str(node.module).partition(".")[0])
    return names


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Those of a file, however deep; expressions, which take most of the time, hold none."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(tree, field, [])
        for node in inner if isinstance(inner, list) else []:
            yield node
            yield from statements(node)


def test_what_is_imported_is_declared_and_what_is_declared_is_pinned() -> None:
    files = [path for package in PACKAGES for path in (REPOSITORY / package).rglob("*.py")]
    names = set.union(*map(imported, files)) - set(PACKAGES) - sys.stdlib_module_names
    extras = SETTINGS["project"]["optional-dependencies"]
    for name, (extra, package) in OPTIONAL.items():
        assert package in map(plain, extras[extra])
        names.discard(name)
    names -= WITH_ROCM
    assert {"optuna", "sqlalchemy", "torch", "yaml"} <= names
    declared = {plain(line) for line in SETTINGS["project"]["dependencies"]}
    providers = packages_distributions()
    undeclared = {
        name for name in names if not declared & {plain(provider) for provider in providers[name]}
    }
    assert undeclared == set()
    assert declared <= {plain(line) for line in PINNED.splitlines()}

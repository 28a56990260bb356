"""What a kernel's file says of its sizes, read from the source: importing Triton takes seconds.

Only what stands in the file literally is known here. Whatever else a file does is left to
`kernels.registry.make_problem`, which checks every problem again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foundation.errors import UserError, mistakes_in
from launchers.arguments import STORAGE_TYPES

__all__ = ["DeclaredSizes", "constants_of_spec", "sizes_of_file", "sizes_of_spec"]

_MAKERS = ("call", "arguments")
_NO_SIZES = ("dtype", "config")
_SOME_SIZE = 1  # a default that is computed

_Function = ast.FunctionDef
# One of these is in every file that has, imports or makes a kernel.
_MAKES_KERNELS = (ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Call)


@dataclass(frozen=True)
class DeclaredSizes:
    """The dimensions of a kernel.

    Args:
        kernel: its name.
        default_shape: default sizes by dimension, 0 if the user must give one.
        dtypes: element types; empty if the source does not list them.
    """

    kernel: str
    default_shape: Mapping[str, int]
    dtypes: tuple[str, ...] = ()


def sizes_of_spec(path: Path, kernel: str) -> DeclaredSizes | None:
    """The sizes that a file gives its `KernelSpec`; what it leaves out is that of a file beside it
    from which it imports.

    Returns:
        None if neither lists them literally.
    """
    tree = ast.parse(path.read_text())
    shape, dtypes = _literal(tree, "default_shape"), _literal(tree, "dtypes")
    for beside in _imported_beside(tree, path):
        if shape is None or dtypes is None:
            found = sizes_of_spec(beside, kernel)
            if found is not None:
                shape, dtypes = shape or found.default_shape, dtypes or found.dtypes
    return None if shape is None else DeclaredSizes(kernel, shape, dtypes or ())


def constants_of_spec(path: Path) -> set[str]:
    """The parameters of functions in a file, or in one beside it from which it imports, that are
    `tl.constexpr`: among them are all that a configuration gives."""
    tree = ast.parse(path.read_text())
    names = {
        each.arg
        for node in ast.walk(tree)
        if isinstance(node, _Function)
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if each.annotation is not None and ast.unparse(each.annotation).endswith("constexpr")
    }
    return names.union(*map(constants_of_spec, _imported_beside(tree, path)))


def _literal(tree: ast.Module, keyword: str) -> Any:
    """What a call in a file passes by this keyword; None if it is no literal, or none does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == keyword:
            try:
                return ast.literal_eval(node.value)
            except ValueError:
                return None
    return None


def _imported_beside(tree: ast.Module, path: Path) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            package, _, stem = node.module.rpartition(".")
            beside = path.with_name(f"{stem}.py")
            if package == path.parent.name and beside.is_file():
                yield beside


def sizes_of_file(path: Path, kernel: str | None) -> DeclaredSizes | None:
    """The sizes that `arguments` or `call` takes in a user's file.

    Args:
        path: of the file.
        kernel: the kernel's name, if the user gave one.

    Returns:
        None if the file does not show them at a glance.

    Raises:
        UserError: for a file that is no Python, or in which nothing can be a kernel.
    """
    path = path.resolve()
    if not path.is_file():
        return None
    with mistakes_in(path, "cannot be imported"):
        tree = ast.parse(path.read_bytes(), str(path))
    if not any(isinstance(node, _MAKES_KERNELS) for node in ast.walk(tree)):
        raise UserError(f"{path} has no kernel: put @triton.jit above a function")
    functions = {node.name: node for node in tree.body if isinstance(node, _Function)}
    name = path.stem if "build" in functions else _kernel_name(functions, path.stem, kernel)
    if name is None or any(target == "SPEC" for target in _assigned(tree)):
        return None
    maker = _maker(functions, name)
    if maker is None or maker.decorator_list or maker.args.vararg or maker.args.kwarg:
        return None
    names = {each.arg for each in (*maker.args.args, *maker.args.kwonlyargs)}
    return DeclaredSizes(name, _sizes(maker.args), tuple(STORAGE_TYPES) if "dtype" in names else ())


def _kernel_name(functions: Mapping[str, _Function], stem: str, kernel: str | None) -> str | None:
    """The kernel's name without "_kernel", if the file leaves no choice."""
    kernels = [name for name, function in functions.items() if _is_jit(function)]
    if kernel is not None:
        chosen = kernel if kernel in kernels else None
    elif f"{stem}_kernel" in kernels:
        chosen = f"{stem}_kernel"
    else:
        chosen = kernels[0] if len(kernels) == 1 else None
    return None if chosen is None else chosen.removesuffix("_kernel")


def _is_jit(function: _Function) -> bool:
    return any(ast.unparse(d).endswith("jit") for d in function.decorator_list)


def _assigned(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from (ast.unparse(target) for target in node.targets)


def _maker(functions: Mapping[str, _Function], name: str) -> _Function | None:
    own = [functions[f"{name}_{maker}"] for maker in _MAKERS if f"{name}_{maker}" in functions]
    shared = [functions[maker] for maker in _MAKERS if maker in functions]
    return next(iter(own or shared), None)


def _sizes(arguments: ast.arguments) -> dict[str, int]:
    positional = [*arguments.posonlyargs, *arguments.args]
    required = [None] * (len(positional) - len(arguments.defaults))
    every = zip(
        [*positional, *arguments.kwonlyargs],
        [*required, *arguments.defaults, *arguments.kw_defaults],
        strict=True,
    )
    return {each.arg: _size(default) for each, default in every if each.arg not in _NO_SIZES}


def _size(default: ast.expr | None) -> int:
    if default is None:
        return 0
    is_literal = isinstance(default, ast.Constant) and type(default.value) is int
    return int(ast.literal_eval(default)) if is_literal else _SOME_SIZE

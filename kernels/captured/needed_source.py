"""The part of a module that a kernel needs, without what importing the module would run.

A kernel's module imports its package, and that a framework: seconds of processor time in each
process that builds, checks or times the kernel, which itself reads a few constants and functions.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import importlib.util
import linecache
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from kernels.captured.statements import (
    catches,
    changed_names,
    defined_names,
    defines_code,
    future_flags,
    globals_of,
    names_of,
    read_at_once,
    triton_chosen,
)

__all__ = ["NotFoundError", "needed_part"]

# Imported as they are. Of torch, torch.compile is not: its helpers lie below two seconds of it.
_PLAIN = frozenset({*sys.stdlib_module_names, "numpy", "torch", "triton"})
_HEAVY = ("torch._dynamo", "torch._inductor")


class NotFoundError(Exception):
    """A name whose definition cannot be found without an import."""


def needed_part(
    source: str,
    name: str,
    *,
    file: Path,
    module: str,
    package: str,
    roots: tuple[Path, ...],
    known: Mapping[str, Any],
    may_run: Callable[[ast.stmt], bool],
) -> ModuleType:
    """A module with one of its functions, and what that reads, of its own and of other modules.

    Of the function's decorators, and of those of kernels that it calls, the ones that Triton has
    for kernels stay, without its autotuner; packages' own are left out.

    Args:
        source: of the module.
        name: of the function.
        file: of the source.
        module: the name that the module gets; the others get their own. None of them is found by
            `import`.
        package: what relative imports start from.
        roots: folders with packages, besides those of `sys.path`.
        known: values of names of the module, for which no statement runs.
        may_run: whether a statement of the module may run; those of other modules may.

    Raises:
        NotFoundError: if a name cannot be found so.
        Exception: whatever a statement of a module raises.
    """
    searched = _Searched((*roots, *map(Path, sys.path)))
    part = _Part(source, file, module, package, searched, may_run)
    part.module.__dict__.update(known)
    part.provide(name)
    return part.module


class _Searched:
    """The modules that are needed a part of, each read once.

    Args:
        roots: folders with packages.
    """

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._roots = roots
        self._parts: dict[str, _Part] = {}
        self._of_modules: dict[int, _Part] = {}  # by the identity of those that `module` gives

    def part(self, module: str) -> _Part:
        """The module of that name.

        Raises:
            NotFoundError: if no file of Python's is found for it.
        """
        if module not in self._parts:
            file = self.file(module)
            if file is None:
                raise NotFoundError(module)
            package = module if file.name == "__init__.py" else module.rpartition(".")[0]
            self._parts[module] = _Part(file.read_text(), file, module, package, self)
        return self._parts[module]

    def module(self, name: str) -> ModuleType:
        """A module as code names it, with nothing in it before `fill` is called.

        Raises:
            NotFoundError: if no file of Python's is found for it.
        """
        part = self.part(name)
        self._of_modules[id(part.module)] = part
        return part.module

    def fill(self, value: object, names: list[str]) -> None:
        """Let a module that code names have those of the names that it defines."""
        part = self._of_modules.get(id(value))
        for name in names if part else ():
            if part and part.has(name):
                part.provide(name)

    def file(self, module: str) -> Path | None:
        """The file of a module; None if there is none."""
        below = Path(*module.split("."))
        for root in self._roots:
            for file in (root / below / "__init__.py", root / below.with_suffix(".py")):
                if file.is_file():
                    return file
        return None


class _Part:
    """A module of which statements run when a name that they define is needed."""

    def __init__(
        self,
        source: str,
        file: Path,
        module: str,
        package: str,
        searched: _Searched,
        may_run: Callable[[ast.stmt], bool] = lambda statement: True,
    ) -> None:
        self.module = ModuleType(module)
        self.module.__file__, self.module.__package__ = str(file), package or None
        self._package = package
        self._searched = searched
        self._may_run = may_run
        self._statements = ast.parse(source).body
        self._flags = future_flags(self._statements)
        self._defining: dict[str, list[int]] = {}
        for number, statement in enumerate(self._statements):
            for name in defined_names(statement):
                self._defining.setdefault(name, []).append(number)
            for name in changed_names(statement):
                if any(not self._is_import(earlier) for earlier in self._defining.get(name, ())):
                    self._defining[name].append(number)
        self._begun: set[tuple[int, str]] = set()
        self._missing: set[str] = set()
        if str(file) not in linecache.cache and not file.is_file():
            linecache.cache[str(file)] = (len(source), None, source.splitlines(True), str(file))

    def has(self, name: str) -> bool:
        """Whether a statement of the module itself defines a name."""
        return name in self._defining

    def provide(self, name: str) -> Any:
        """The value of a name, for which the statements that define it run.

        Raises:
            NotFoundError: if there is none.
        """
        self._define(name)
        if not hasattr(self.module, name):
            raise NotFoundError(f"{self.module.__name__}.{name}")
        return getattr(self.module, name)

    def _define(self, name: str) -> None:
        is_begun = (-1, name) in self._begun
        if name in self._missing:
            raise NotFoundError(f"{self.module.__name__}.{name}")
        if not is_begun and hasattr(self.module, name):
            return  # its value is known
        self._begun.add((-1, name))
        try:
            for number in self._defining.get(name, ()):
                self._run(number, name)
            if not is_begun and not self.has(name):
                self._take_from_stars(name)
        except NotFoundError:
            self._missing.add(name)
            vars(self.module).pop(name, None)  # or what some of them made of it would count
            raise

    def _take_from_stars(self, name: str) -> None:
        """Take a name from what `from ... import *` names.

        Raises:
            NotFoundError: if it is not there.
        """
        for number in self._defining.get("*", ()):
            statement = self._statements[number]
            if not isinstance(statement, ast.ImportFrom):
                raise NotFoundError(name)  # one of a choice
            with contextlib.suppress(NotFoundError):
                setattr(self.module, name, self._of_star(self._origin(statement), name))
        if not hasattr(self.module, name):
            raise NotFoundError(f"{self.module.__name__}.{name}")

    def _of_star(self, origin: str, name: str) -> Any:
        if not _is_plain(origin):
            return self._searched.part(origin).provide(name)
        found = importlib.import_module(origin)
        if name.startswith("_") or not hasattr(found, name):
            raise NotFoundError(f"{origin}.{name}")
        return getattr(found, name)

    def _run(self, number: int, name: str) -> None:
        statement = self._statements[number]
        if triton := triton_chosen(statement, name):  # the kernel ran, so it was there
            setattr(self.module, name, importlib.import_module(triton))
            return
        key = (number, name if self._is_import(number) else "")
        if key in self._begun:
            return
        self._begun.add(key)
        if isinstance(statement, ast.ImportFrom):
            self._import_from(statement, name)
        elif isinstance(statement, ast.Import):
            self._import(statement, name)
        elif not self._may_run(statement):
            raise NotFoundError(f"{self.module.__name__}.{name}")
        else:
            self._execute(number, _without_decorators(statement, self._is_triton))

    def _execute(self, number: int, statement: ast.stmt) -> None:
        file = self.module.__file__ or ""
        tree = ast.Module([statement], [])
        code = compile(tree, file, "exec", flags=self._flags, dont_inherit=True)
        self._raise_if_rebound(number, read_at_once(code))
        # Of a choice, one side runs, and what only the other one needs may be missing.
        missing = () if defines_code(statement) or catches(statement) else (NotFoundError,)
        for name in dict.fromkeys(globals_of(code)):
            is_builtin = hasattr(builtins, name) and not self.has(name)
            with contextlib.suppress(*((NotFoundError,) if is_builtin else missing)):
                self._define(name)
            self._searched.fill(vars(self.module).get(name), names_of(code))
        exec(code, self.module.__dict__)

    def _raise_if_rebound(self, number: int, names: list[str]) -> None:
        """Raise an error where a statement reads a name that a later one gives another value."""
        for name in names:
            numbers = self._defining.get(name, [number])
            in_order = number in numbers or max(numbers) <= number
            if not in_order and not all(map(self._is_import, numbers)):
                raise NotFoundError(f"{self.module.__name__}.{name}")

    def _is_import(self, number: int) -> bool:
        return isinstance(self._statements[number], ast.Import | ast.ImportFrom)

    def _import(self, statement: ast.Import, name: str) -> None:
        for alias in statement.names:
            if (alias.asname or alias.name.partition(".")[0]) != name:
                continue
            if not _is_plain(alias.name) and (alias.asname or "." not in alias.name):
                setattr(self.module, name, self._searched.module(alias.name))
            elif _is_plain(alias.name):
                self._execute_plain(ast.copy_location(ast.Import([alias]), statement))
            else:
                raise NotFoundError(alias.name)

    def _import_from(self, statement: ast.ImportFrom, name: str) -> None:
        origin = self._origin(statement)
        for alias in statement.names:
            if (alias.asname or alias.name) != name:
                continue
            inner = f"{origin}.{alias.name}"
            if _is_plain(inner):
                one = ast.ImportFrom(statement.module, [alias], statement.level)
                self._execute_plain(ast.copy_location(one, statement))
            elif self._searched.file(inner) is not None and not self._is_in(origin, alias.name):
                setattr(self.module, name, self._searched.module(inner))
            else:
                setattr(self.module, name, self._searched.part(origin).provide(alias.name))

    def _is_in(self, origin: str, name: str) -> bool:
        return self._searched.file(origin) is not None and self._searched.part(origin).has(name)

    def _execute_plain(self, statement: ast.stmt) -> None:
        exec(compile(ast.Module([statement], []), "<import>", "exec"), self.module.__dict__)

    def _origin(self, statement: ast.ImportFrom) -> str:
        """The absolute name of what is imported from."""
        relative = "." * statement.level + (statement.module or "")
        return importlib.util.resolve_name(relative, self._package)

    def _is_triton(self, decorator: ast.expr) -> bool:
        """Whether a decorator is one that Triton has for kernels, besides its autotuner."""
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        words = ast.unparse(function).split(".")
        if "autotune" in words or not all(word.isidentifier() for word in words):
            return False
        for number in self._defining.get(words[0], ()):
            statement = self._statements[number]
            if isinstance(statement, ast.Import):
                return any(alias.name.split(".")[0] == "triton" for alias in statement.names)
            if isinstance(statement, ast.ImportFrom):
                names = {alias.asname or alias.name: alias.name for alias in statement.names}
                if names.get(words[0]) == "triton":
                    return self._leads_to_triton(words[0])
                is_autotune = names.get(words[0]) == "autotune"
                return self._origin(statement).split(".")[0] == "triton" and not is_autotune
        return False

    def _leads_to_triton(self, name: str) -> bool:
        """Whether a name that a package has for Triton is Triton."""
        with contextlib.suppress(Exception):  # whatever a statement of the package raises
            return getattr(self.provide(name), "__name__", "") == "triton"
        return False


def _is_plain(module: str) -> bool:
    if module.startswith(_HEAVY):
        return False
    return module.partition(".")[0] in _PLAIN


def _without_decorators(statement: ast.stmt, is_kept: Callable[[ast.expr], bool]) -> ast.stmt:
    """A kernel's definition under Triton's decorators alone; other statements as they are."""
    if not isinstance(statement, ast.FunctionDef):
        return statement
    kept = [decorator for decorator in statement.decorator_list if is_kept(decorator)]
    if kept:
        statement.decorator_list = kept
    return statement

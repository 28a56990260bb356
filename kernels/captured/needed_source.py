"""The part of a module that a kernel needs, without what importing the module would run.

A kernel's module imports its package, and that a framework: seconds of processor time in each
process that builds, checks or times the kernel, which itself reads a few constants and functions.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import dis
import importlib.util
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

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
        self._flags = _flags(self._statements)
        self._defining: dict[str, list[int]] = {}
        for number, statement in enumerate(self._statements):
            for name in _defined(statement):
                self._defining.setdefault(name, []).append(number)
        self._begun: set[tuple[int, str]] = set()
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
        if not self._defining.get(name):
            self._take_from_stars(name)
        elif (-1, name) not in self._begun and hasattr(self.module, name):
            return  # its value is known
        else:
            self._begun.add((-1, name))
            for number in self._defining[name]:
                self._run(number, name)

    def _take_from_stars(self, name: str) -> None:
        """Take a name from what `from ... import *` names."""
        for number in self._defining.get("*", ()):
            statement = self._statements[number]
            assert isinstance(statement, ast.ImportFrom)
            origin = self._origin(statement)
            if not _is_plain(origin) and self._searched.part(origin).has(name):
                setattr(self.module, name, self._searched.part(origin).provide(name))

    def _run(self, number: int, name: str) -> None:
        statement = self._statements[number]
        is_import = isinstance(statement, ast.Import | ast.ImportFrom)
        key = (number, name if is_import else "")
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
            self._execute(_without_decorators(statement, self._is_triton))

    def _execute(self, statement: ast.stmt) -> None:
        file = self.module.__file__ or ""
        tree = ast.Module([statement], [])
        code = compile(tree, file, "exec", flags=self._flags, dont_inherit=True)
        # Of a choice, one side runs, and what only the other one needs may be missing.
        missing = () if _defines_code(statement) else (NotFoundError,)
        for name in dict.fromkeys(_globals_of(code)):
            if self.has(name) or not hasattr(builtins, name):
                with contextlib.suppress(*missing):
                    self._define(name)
            self._searched.fill(vars(self.module).get(name), _names_of(code))
        exec(code, self.module.__dict__)

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
            elif self._is_in(origin, alias.name):
                setattr(self.module, name, self._searched.part(origin).provide(alias.name))
            elif self._searched.file(inner) is not None:
                setattr(self.module, name, self._searched.module(inner))
            else:
                value = self._searched.part(origin).provide(alias.name)
                setattr(self.module, name, value)

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
                is_autotune = names.get(words[0]) == "autotune"
                return self._origin(statement).split(".")[0] == "triton" and not is_autotune
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


def _defines_code(statement: ast.stmt) -> bool:
    """Whether something in a statement may be called later."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    return any(isinstance(node, kinds) for node in ast.walk(statement))


def _defined(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module defines, once it has run."""
    for node in _outside_functions(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id


def _outside_functions(statement: ast.AST) -> Iterator[ast.AST]:
    yield statement
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    for inner in ast.iter_child_nodes(statement):
        yield from _outside_functions(inner)


def _flags(statements: list[ast.stmt]) -> int:
    """What `from __future__ import ...` of a file asks of the compiler."""
    names = [
        alias.name
        for statement in statements
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        for alias in statement.names
    ]
    flags = 0
    for name in names:
        flags |= int(getattr(__future__, name).compiler_flag)
    return flags


def _globals_of(code: CodeType) -> list[str]:
    """The globals that a statement reads, and functions that it defines."""
    own = [
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    ]
    inner = [_globals_of(part) for part in code.co_consts if isinstance(part, CodeType)]
    return [*own, *(name for names in inner for name in names)]


def _names_of(code: CodeType) -> list[str]:
    """The names of globals and attributes in a statement, and in functions that it defines."""
    inner = [_names_of(part) for part in code.co_consts if isinstance(part, CodeType)]
    return [*code.co_names, *(name for names in inner for name in names)]

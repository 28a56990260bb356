"""A captured kernel as a function of this process: imported, or made of the recorded source."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import triton
from triton.runtime.autotuner import Heuristics
from triton.runtime.jit import JITFunction

from foundation.errors import UserError
from foundation.printing import others_print_aside
from kernels.captured.defined import defined, give_what_is_missing
from kernels.captured.needed_source import needed_part
from kernels.captured.task import Kernel
from kernels.own.other_kernels import asked_for_device
from kernels.unwrapped import unwrapped
from triton_rvv.flag_gems import register_for
from triton_rvv.launches.source import kernel_digest

__all__ = ["LoadedKernel", "loaded_kernel"]

_LOCAL = "<locals>"
_MAKER = "_make_captured"
# Calls that only make values, by what they begin with; others may do what a program does.
_HARMLESS_CALLS = frozenset(
    {"tl", "triton", "math", "os", "collections", "namedtuple", "getattr", "isinstance", _MAKER}
    | {"int", "float", "bool", "str", "tuple", "list", "dict", "set"}
    | {"range", "len", "min", "max", "sorted", "zip", "enumerate"}
)


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel without its decorators.

    Args:
        function: as made by `@triton.jit`.
        heuristics: by constexpr, a function of the arguments that gives its value.
    """

    function: Any
    heuristics: Mapping[str, Callable[[Mapping[str, Any]], Any]]


@functools.lru_cache(maxsize=64)
def loaded_kernel(kernel: Kernel, heuristics: tuple[str, ...], *, whole: bool) -> LoadedKernel:
    """The kernel as it was when the program was captured.

    It is made of the statements that it needs, where those give the same kernel. Else its module
    is imported, from where the program had it. The file that a program was started with is not
    run: its functions are made of what it defines. So are kernels that no name leads to.

    Args:
        kernel: what was recorded of it.
        heuristics: the constants that its `@triton.heuristics` computes.
        whole: whether its module is wanted with all that it defines.

    Raises:
        UserError: if there is none, or another one by now.
    """
    register_for(f"{kernel.module} {kernel.module_source}")
    found: LoadedKernel | None = None
    failed: list[Exception] = []
    if not whole:
        found = _made_of_what_it_needs(kernel, heuristics)
        if found is not None:
            return found
    if kernel.module != "__main__" and not kernel.is_generated:
        try:
            found = _imported(kernel)
        except Exception as error:  # whatever a module does when it is imported elsewhere
            failed.append(error)
    found = found or _made(kernel, failed)
    is_it = found is not None and kernel_digest(found.function) == kernel.digest
    if not is_it and not kernel.has_file:
        found = None if heuristics else _defined(kernel)
    if found is None or kernel_digest(found.function) != kernel.digest:
        raise UserError(_refusal(kernel, failed, is_there=found is not None))
    return found


def _refusal(kernel: Kernel, failed: Sequence[Exception], *, is_there: bool) -> str:
    """Why a kernel cannot be tuned: there is another one of its name, or none.

    Args:
        kernel: what was recorded of it.
        failed: the imports that failed; the kernel may need some of them.
        is_there: whether there is one of its name.
    """
    error = f"{type(failed[0]).__name__}: {failed[0]}" if failed else ""
    missing = error and f"what cannot be imported here ({error})"
    about = f"the kernel {kernel.name} of {kernel.file}"
    if is_there and missing:
        return (
            f"{about} has changed, or needs {missing}: install that, or capture the program again"
        )
    if is_there:
        return f"{about} has changed: capture the program again"
    return (
        f"{about} cannot be made of what was recorded{missing and f', since it needs {missing}'}: "
        "define it at the top of a module that can be imported, and capture the program again"
    )


def _made_of_what_it_needs(kernel: Kernel, heuristics: tuple[str, ...]) -> LoadedKernel | None:
    """The kernel without its module's imports; None if that gives no kernel, or another one."""
    if _LOCAL in kernel.qualname or "." in kernel.qualname:
        return None
    is_of_file = kernel.module != "__main__" and not kernel.is_generated
    name = kernel.module if is_of_file else f"captured_{kernel.digest}"
    # What is missing, or is another kernel than the recorded one, is for the whole module to give.
    imports = _importable(kernel)  # those in a choice are left to Python
    with contextlib.suppress(Exception), imports, asked_for_device(), others_print_aside():
        module = needed_part(
            Path(kernel.file).read_text() if is_of_file else kernel.module_source,
            kernel.qualname,
            file=Path(kernel.file),
            module=name,
            package=kernel.package,
            roots=(_root_folder(kernel),),
            known=_global_values(kernel),
            may_run=lambda statement: is_of_file or _defines(statement),
        )
        if not is_of_file:
            sys.modules[name] = module  # where the digest of a kernel looks for its file
        found = _found(module, kernel)
        if found and kernel_digest(found.function) == kernel.digest:
            return found if {*found.heuristics} == {*heuristics} else None
    return None


def _imported(kernel: Kernel) -> LoadedKernel | None:
    """The kernel of an importable module; None if there is no such name in it.

    Raises:
        Exception: whatever the module raises when it is imported.
    """
    if _LOCAL in kernel.qualname:
        return None
    with _importable(kernel), asked_for_device(), others_print_aside():
        try:
            module = importlib.import_module(kernel.module)
        except Exception:
            _stand_in_for_packages(kernel)
            module = importlib.import_module(kernel.module)
    return _found(module, kernel)


def _stand_in_for_packages(kernel: Kernel) -> None:
    """Let a module be imported without what the packages above it do, which may fail here."""
    root, parts = _root_folder(kernel), kernel.module.split(".")
    for count in range(1, len(parts)):
        package = ModuleType(".".join(parts[:count]))
        package.__path__ = [str(root.joinpath(*parts[:count]))]
        sys.modules.setdefault(package.__name__, package)


def _root_folder(kernel: Kernel) -> Path:
    """Where the outermost package of the kernel's module lies, or the module itself."""
    path = Path(kernel.file)
    above = len(kernel.module.split(".")) - (path.stem != "__init__")
    if kernel.module == "__main__" and kernel.package:
        above = len(kernel.package.split("."))
    folders = list(path.parents)
    return folders[min(above, len(folders) - 1)]


@contextmanager
def _importable(kernel: Kernel) -> Iterator[None]:
    """Within the block, modules are looked for where the kernel's is, too."""
    before = list(sys.path)
    sys.path.append(str(_root_folder(kernel)))
    try:
        yield
    finally:
        sys.path[:] = before


def _made(kernel: Kernel, failed: list[Exception]) -> LoadedKernel | None:
    """The kernel made of its recorded source; None if that does not work.

    Args:
        kernel: what was recorded of it.
        failed: gets the imports that fail.
    """
    text, tree = kernel.module_source, _definitions(kernel.module_source)
    is_local = _LOCAL in kernel.qualname
    if is_local or not tree:
        text = f"import triton\nimport triton.language as tl\n{text}\n\n{_own_definition(kernel)}"
        tree = _definitions(text)
    name = f"captured_{kernel.digest}"
    # Messages name the program's own line where the text is that of its file.
    file = kernel.file if text is kernel.module_source else f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = ModuleType(name)
    module.__file__, module.__package__ = file, kernel.package or None
    sys.modules[name] = module  # where Triton looks for a kernel's globals
    with _importable(kernel), asked_for_device(), others_print_aside():
        for node in tree:
            # What fails, such as the import of a package that is not here, the kernel may not need.
            try:
                exec(compile(ast.Module([node], []), file, "exec"), module.__dict__)
            except ImportError as error:
                failed.append(error)
            except Exception:
                continue
        module.__dict__.update(_global_values(kernel))
    return _found(module, kernel)


def _defined(kernel: Kernel) -> LoadedKernel | None:
    """The kernel made of its recorded definition; None if that does not give it."""
    with contextlib.suppress(Exception), _importable(kernel), others_print_aside():
        made = defined(kernel.definition)
        if kernel_digest(made) == kernel.digest:
            return LoadedKernel(made, {})
    return None


def _global_values(kernel: Kernel) -> dict[str, Any]:
    """The plain values that the kernel read of its module."""
    values: dict[str, Any] = {}
    exec(f"import triton.language as tl\n{kernel.global_values}", values)
    return {name: value for name, value in values.items() if name not in ("tl", "__builtins__")}


def _name(kernel: Kernel) -> str:
    """Where a module has the kernel; one that a function made stands there under its own name."""
    return kernel.name if _LOCAL in kernel.qualname else kernel.qualname


def _own_definition(kernel: Kernel) -> str:
    """The kernel under its name, made where the variables are that it takes from a function."""
    own = f"@triton.jit\n{textwrap.dedent(kernel.source)}\n"
    inner = textwrap.indent(f"{kernel.captured}{own}return {kernel.name}\n", "    ")
    return f"def {_MAKER}():\n{inner}\n{kernel.name} = {_MAKER}()\n" if kernel.captured else own


def _found(module: ModuleType, kernel: Kernel) -> LoadedKernel | None:
    """The kernel in a module, under all of its decorators; None if it cannot be made there.

    A function that was handed to `triton.jit` may have the name, and the kernel another one. Where
    the name leads to no kernel, as under a decorator that returns a function, it is made again
    without its decorators.
    """
    found: Any = module
    for part in _name(kernel).split("."):
        found = getattr(found, part, None)
    if isinstance(found, FunctionType):
        plain = found
        made = (v for v in vars(module).values() if isinstance(v, JITFunction) and v.fn is plain)
        found = next(made, None) or found
    try:
        road = unwrapped(found)
    except TypeError:
        return _alone(module, kernel)
    if road.function.fn.__name__ != kernel.name:
        return _alone(module, kernel)
    give_what_is_missing(road.function, kernel.definition)
    heuristics: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
    for decorator in road.decorators:
        if isinstance(decorator, Heuristics):
            heuristics = {**decorator.values, **heuristics}
    return LoadedKernel(road.function, heuristics)


def _alone(module: ModuleType, kernel: Kernel) -> LoadedKernel | None:
    """The kernel made of its own source among what a module has; None if that does not work."""
    name = f"alone_{kernel.digest}"
    text, file = _own_definition(kernel), f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = ModuleType(name)
    scope.__dict__.update({"triton": triton, **vars(module), "__name__": name})
    sys.modules[name] = scope  # where Triton looks for a kernel's globals
    with contextlib.suppress(Exception):
        exec(compile(text, file, "exec"), scope.__dict__)
    made = vars(scope).get(kernel.name)
    if not isinstance(made, JITFunction):
        return None
    give_what_is_missing(made, kernel.definition)
    return LoadedKernel(made, {}) if kernel_digest(made) == kernel.digest else None


def _definitions(source: str) -> list[ast.stmt]:
    """What a file imports and defines, without what it does."""
    try:
        return [node for node in ast.parse(source).body if _defines(node)]
    except SyntaxError:
        return []


def _defines(node: ast.stmt) -> bool:
    """Whether a statement imports or defines, and does nothing else."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
        return True
    if isinstance(node, ast.Assign | ast.AnnAssign):
        calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
        return all(_root(call.func) in _HARMLESS_CALLS for call in calls)
    if isinstance(node, ast.If | ast.Try):
        handlers = [part for h in getattr(node, "handlers", []) for part in h.body]
        inner = [*node.body, *node.orelse, *handlers, *getattr(node, "finalbody", [])]
        return all(isinstance(part, ast.Pass) or _defines(part) for part in inner)
    return False


def _root(function: ast.expr) -> str:
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else ""

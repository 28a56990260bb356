"""Which numbers of a kernel only go into the values that it computes, as seeds and steps do.

Launches that differ in such a number alone do the same work: it reaches no address, no mask, no
condition and no number of turns.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from typing import Any

from triton_rvv.launches.source import captured_values, is_of_triton

__all__ = ["data_numbers"]

_ATTRIBUTE = "triton_rvv_data_numbers"

# Functions and methods that give values made of their arguments alone, element by element, or sums
# of them; a shape or an address among their arguments is none that a number reaches unnoticed.
_VALUES = frozenset(
    {"rand", "randn", "randint", "rand4x", "randn4x", "randint4x", "philox", "philox_impl"}
    | {"where", "minimum", "maximum", "clamp", "abs", "fma", "fdiv", "div_rn", "umulhi", "cast"}
    | {"exp", "exp2", "log", "log2", "sqrt", "sqrt_rn", "rsqrt", "sin", "cos", "erf", "sigmoid"}
    | {"floor", "ceil", "pow", "tanh", "to", "min", "max", "sum", "float", "int", "zeros_like"}
    | {"argmin", "argmax", "cumsum", "cumprod", "softmax", "sort", "topk", "xor_sum", "dot"}
)
# Of functions that reach memory, or take a shape, the argument that is only data: its place, and
# its name.
_DATA = {"load": (2, "other"), "store": (1, "value"), "full": (1, "value")} | {
    f"atomic_{kind}": (1, "val") for kind in ("add", "max", "min", "and", "or", "xor", "xchg")
}
_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Pass)
_BLOCKS = (ast.If, ast.For, ast.While)
_ARITHMETIC = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Tuple, ast.List)


class _ReachedError(Exception):
    """A number reaches more than values."""


def data_numbers(kernel: Any) -> frozenset[str]:
    """The parameters of a kernel, constants aside, that only go into values, were they numbers.

    Where the source leaves that open, a parameter is not among them.

    Args:
        kernel: made by `@triton.jit`. Its source is taken as Triton has it.
    """
    known: tuple[str, frozenset[str]] | None = kernel.__dict__.get(_ATTRIBUTE)
    if known is None or known[0] != kernel.src:
        names = [p.name for p in kernel.params if not p.is_constexpr]
        found = frozenset(name for name in names if _is_data(kernel, name, ()))
        known = kernel.__dict__[_ATTRIBUTE] = (kernel.src, found)
    return known[1]


def _is_data(kernel: Any, name: str, callers: tuple[tuple[int, str], ...]) -> bool:
    """Whether a parameter only goes into values, also in the kernels that are called with it."""
    try:
        (function,) = ast.parse(textwrap.dedent(kernel.src)).body
        if not isinstance(function, ast.FunctionDef) or (id(kernel), name) in callers:
            return False
        _Reach(kernel, function, name, (*callers, (id(kernel), name))).check()
    except (_ReachedError, SyntaxError, ValueError, LookupError):
        return False
    return True


class _Reach:
    """Where a parameter of a function goes.

    Args:
        kernel: whose names the function reads.
        function: its definition.
        name: of the parameter.
        callers: the functions and parameters by which it is reached, this one the last.
    """

    def __init__(
        self,
        kernel: Any,
        function: ast.FunctionDef,
        name: str,
        callers: tuple[tuple[int, str], ...],
    ) -> None:
        self._kernel, self._function, self._callers = kernel, function, callers
        self._reached = {name}
        self._is_stored = False  # so what is loaded may follow from it

    def check(self) -> None:
        """Look at each statement, until no more names hold what follows from the parameter.

        Raises:
            _ReachedError: if it reaches more than values.
        """
        while True:
            before = len(self._reached), self._is_stored
            for statement in self._function.body:
                self._statement(statement)
            if before == (len(self._reached), self._is_stored):
                return

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, _BLOCKS):
            self._refuse(node.iter if isinstance(node, ast.For) else node.test)
            for inner in (*node.body, *node.orelse):
                self._statement(inner)
            return
        if not isinstance(node, _STATEMENTS):
            self._refuse(node)
            return
        value = getattr(node, "value", None)
        if value is not None and self._follows(value):
            self._reached |= set(_targets(node))

    def _follows(self, node: ast.expr) -> bool:
        """Whether a value follows from the parameter.

        Raises:
            _ReachedError: if the parameter reaches more than values on the way.
        """
        if isinstance(node, ast.Name):
            return node.id in self._reached
        if isinstance(node, ast.Call):
            return self._call_follows(node)
        if isinstance(node, ast.Subscript):
            self._refuse(node.slice)
        elif not isinstance(node, _ARITHMETIC):
            self._refuse(node)
        parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        return True in [self._follows(one) for one in parts]  # each, since each may refuse

    def _call_follows(self, call: ast.Call) -> bool:
        function = call.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        given = [*enumerate(call.args), *((word.arg, word.value) for word in call.keywords)]
        if isinstance(function, ast.Attribute) and not isinstance(function.value, ast.Name):
            given.append((-1, function.value))  # a method of a value
        elif isinstance(function, ast.Attribute) and self._follows(function.value):
            given.append((-1, function.value))
        reached = [place for place, value in given if self._follows(value)]
        if not reached:
            return self._is_stored and (name == "load" or self._called(function) is not None)
        called = self._called(function)
        if called is None:
            if name in _DATA and set(reached) <= set(_DATA[name]):
                self._store(name)
                return name != "store"
            if name not in _VALUES:
                raise _ReachedError
            return True
        for place in reached:
            parameter = called.arg_names[place] if isinstance(place, int) else place
            if place == -1 or not _is_data(called, str(parameter), self._callers):
                raise _ReachedError
        return True

    def _store(self, name: str) -> None:
        """Note that memory holds what follows from the parameter.

        Raises:
            _ReachedError: in a function that a kernel calls, whose own loads are not looked at.
        """
        if name in ("load", "full"):
            return
        if len(self._callers) > 1:
            raise _ReachedError
        self._is_stored = True

    def _called(self, function: ast.expr) -> Any:
        """The kernel that a call is of; None for Triton's own functions, and what is unknown."""
        names = []
        while isinstance(function, ast.Attribute):
            names.append(function.attr)
            function = function.value
        if not isinstance(function, ast.Name):
            return None
        fn = self._kernel.fn
        found = {**fn.__globals__, **captured_values(fn)}.get(function.id)
        for name in reversed(names):
            found = getattr(found, name, None)
        is_kernel = hasattr(found, "src") and hasattr(found, "arg_names")
        return found if is_kernel and not is_of_triton(found.__module__) else None

    def _refuse(self, node: ast.AST) -> None:
        """Let the parameter have no part in a condition, an index, or what is not known.

        Raises:
            _ReachedError: if it has.
        """
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in self._reached:
                raise _ReachedError
            if isinstance(part, ast.Call) and self._follows(part):
                raise _ReachedError


def _targets(node: ast.stmt) -> Iterator[str]:
    """The names that an assignment gives values."""
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    for target in filter(None, targets):
        yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))

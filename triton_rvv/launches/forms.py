"""Finds what is known of a launch by its arguments, in about the time of a dictionary's lookup.

Launches of one kernel whose arguments have the same types and names are of one form. For each form
a function is written that takes from the arguments what tells one signature from another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from triton_rvv.launches.data_numbers import data_numbers

__all__ = ["Form", "Forms", "data_forms", "forms_of"]

Known = TypeVar("Known")

# Of more signatures than this, such as those of a counter, all are forgotten and met again.
_LARGEST = 4096

# What tells signatures apart: of a tensor where it begins within 16 bytes, too.
_TRAITS = {
    "tensor": "{0}.shape, {0}.stride(), {0}.dtype, (p_{0} := {0}.data_ptr()) & 15",
    "integer": "{0}",
    # Triton asks whether an integer is 1 or a multiple of 16, and for its width.
    "near": (
        "{0} if {0} in exact"
        " else (({0} if {0} >= 0 else ~{0}).bit_length(), {0} < 0, {0} & 15 == 0)"
    ),
    "float": "",
    "constant": "{0}",
    # 0.0 equals -0.0, which makes another kernel.
    "float constant": "float({0}).hex()",
    "other": "describe({0})",
}
_PLAIN = (int, float, bool, str, type(None))
_TENSORS = ("Tensor", "Parameter")


class Forms(Generic[Known]):
    """What is known of one kernel's launches.

    Args:
        parameters: the kernel's.
        near: parameters of which about the same integers are the same, such as seeds.
        exact: integers that are told from all others even there.
    """

    def __init__(
        self,
        parameters: Sequence[Any],
        near: frozenset[str] = frozenset(),
        exact: frozenset[int] = frozenset(),
    ) -> None:
        self._names = [p.name for p in parameters]
        self._is_constant = {p.name: p.is_constexpr for p in parameters}
        self._near, self._exact = near, exact
        self._last: dict[tuple[Any, ...], Form[Known]] = {}
        self._forms: dict[tuple[Any, ...], Form[Known]] = {}

    def find(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any
    ) -> tuple[Known | None, Form[Known], Any]:
        """What is known of launches like this one, its form, and what tells it from others.

        Args:
            args, kwargs: of the launch; options of the compiler among the latter.
            grid: numbers, or a function, which does not count.
        """
        names = (len(args), *kwargs)
        given = (*args, *kwargs.values())
        form = self._last.get(names)
        traits = form.traits(*given) if form is not None else None
        if form is None or traits is None:
            form = self._last[names] = self._form(names, given)
            traits = form.traits(*given)
        if not callable(grid):
            traits = (traits, *grid)
        return form.known.get(traits), form, traits

    def _form(self, names: tuple[Any, ...], given: tuple[Any, ...]) -> Form[Known]:
        key = (*names, *map(type, given))
        if key not in self._forms:
            parameters = [*self._names[: names[0]], *names[1:]]
            roles = [
                self._role(name, value) for name, value in zip(parameters, given, strict=False)
            ]
            self._forms[key] = Form(list(map(type, given)), roles, self._exact)
        return self._forms[key]

    def _role(self, name: str, value: Any) -> str:
        role = _role(value, self._is_constant.get(name, True))
        return "near" if type(value) is int and role == "integer" and name in self._near else role


class Form(Generic[Known]):
    """Launches whose arguments have the same types and names.

    Attributes:
        known: what is known of them, by traits.
        traits: takes from the arguments what tells one signature from another; None where they
            are of other types.
        is_plain: whether Triton compiles the same for the same traits: no argument is of a kind of
            which these say less.
    """

    def __init__(self, types: Sequence[type], roles: Sequence[str], exact: frozenset[int]) -> None:
        self.known: dict[Any, Known] = {}
        self.traits = _written(types, roles, exact)
        self.is_plain = "other" not in roles and all(
            type_ in _PLAIN or type_.__name__ in _TENSORS for type_ in types
        )

    def remember(self, traits: Any, known: Known) -> None:
        """Keep what is known of launches with these traits."""
        if len(self.known) >= _LARGEST:
            self.known.clear()
        self.known[traits] = known


def data_forms(kernel: Any) -> Forms[Any]:
    """Forms of a kernel's launches that take about the same seeds and steps for the same."""
    return Forms(kernel.params, data_numbers(kernel))


def forms_of(
    launched: Any, attribute: str, kernel: Any, made: Callable[[Any], Forms[Any]] = data_forms
) -> Forms[Any]:
    """The forms that are kept with what is launched.

    Args:
        launched: a kernel made by `@triton.jit`, or an autotuner: a kernel may have several.
        attribute: where they are kept.
        kernel: made by `@triton.jit`.
        made: makes them of the kernel.
    """
    forms: Forms[Any] | None = launched.__dict__.get(attribute)
    if forms is None:
        forms = launched.__dict__[attribute] = made(kernel)
    return forms


def _role(value: Any, is_constant: bool) -> str:
    if hasattr(value, "data_ptr") and hasattr(value, "stride"):
        return "tensor"
    if isinstance(value, np.generic):
        value = value.item()
    if is_constant or isinstance(value, bool | str | None):
        return _constant_role(value)
    if isinstance(value, int):
        return "integer"
    return "float" if isinstance(value, float) else "other"


def _constant_role(value: Any) -> str:
    if type(value) is float:
        return "float constant"
    return "constant" if isinstance(value, _PLAIN) else "other"


def _written(
    types: Sequence[type], roles: Sequence[str], exact: frozenset[int]
) -> Callable[..., Any]:
    """The function that gives the traits, or None where arguments have other types."""
    places = range(len(roles))
    names = ", ".join(f"x{place}" for place in places)
    texts = [_TRAITS[role].format(f"x{place}") for place, role in enumerate(roles)]
    pointers = [f"p_x{place}" for place, role in enumerate(roles) if role == "tensor"]
    # How many addresses differ: an operation in place is another than one that is not.
    texts.append(f"len({{{', '.join(pointers)}}})" if len(pointers) > 1 else "")
    condition = " and ".join(f"type(x{place}) is T{place}" for place in places) or "True"
    traits = "".join(f"{text}, " for text in texts if text)
    scope = {f"T{place}": type_ for place, type_ in enumerate(types)}
    written: Callable[..., Any] = eval(
        f"lambda {names}: ({traits}) if {condition} else None",
        {**scope, "describe": _description, "exact": exact},
    )
    return written


def _description(value: Any) -> Any:
    """What tells values of any kind apart."""
    if hasattr(value, "data_ptr") and hasattr(value, "stride"):
        return (value.shape, value.stride(), value.dtype, value.data_ptr() & 15)
    if isinstance(value, list | tuple):
        return tuple(map(_description, value))
    if hasattr(value, "block_shape"):
        sizes = (tuple(value.shape), tuple(value.strides), tuple(value.block_shape))
        return (*sizes, _description(value.base))
    if hasattr(value, "__array_interface__") and hasattr(value, "ctypes"):
        return (value.shape, value.strides, value.dtype.str, value.ctypes.data & 15)
    if type(value) is float:
        return (float, value.hex())
    # With its type: 1, 1.0 and True are equal, and make other kernels.
    return (type(value), value) if isinstance(value, _PLAIN) else str(value)

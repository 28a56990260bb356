"""A function is the same, and reads the same, when it is made again of its recorded definition."""

from __future__ import annotations

import itertools
import linecache
from enum import IntEnum, StrEnum
from typing import Any

import torch
import triton
from triton import language

from kernels.captured.defined import defined
from triton_rvv.launches.definition import definition
from triton_rvv.launches.source import captured_variables, constant_text, kernel_digest

_numbers = itertools.count()

RECURSIVE = """
@jit
def even(x, left):
    return odd(x, left - 1) if left > 0 else x

@jit
def odd(x, left):
    return even(x, left - 1) if left > 0 else itself(x)

@jit
def itself(x):
    return itself(x)
"""

TYPED = """
def made(of):
    @jit
    def typed(x):
        return x.to(of)
    return typed
"""

# A kernel's own `x.dtype` is a name that a program may have, too.
WITH_TORCH_TYPE = """
@jit
def cast(x, out):
    return x.to(out.dtype.element_ty)
"""

KIND = language.constexpr(language.float16)


def executed(text: str, **known: Any) -> dict[str, Any]:
    """What a text defines, as a program does that runs it with `exec`."""
    file = f"<definitions {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"__name__": "program", "jit": triton.jit, **known}
    exec(compile(text, file, "exec"), scope)
    return scope


def made_again(kernel: Any) -> Any:
    again = defined(definition(kernel))
    assert kernel_digest(again) == kernel_digest(kernel)
    return again


def test_functions_that_call_one_another_reach_one_another():
    even = made_again(executed(RECURSIVE)["even"])
    odd = even.fn.__globals__["odd"]
    assert odd.fn.__globals__["even"] is even
    assert odd.fn.__globals__["itself"] is not None


def test_kernels_that_differ_in_a_type_or_a_tuple_are_two():
    made = executed(TYPED)["made"]
    values = [language.float16, KIND, language.bfloat16, (1, 2), (1, language.float16)]
    again = [made_again(made(value)) for value in values]
    cells = [kernel.fn.__closure__[0].cell_contents for kernel in again]
    assert cells == values
    assert len({kernel_digest(kernel) for kernel in again}) == 4  # a constexpr changes nothing


def test_a_member_of_an_enumeration_counts_as_what_it_stands_for():
    class Mode(IntEnum):
        ADD = 3

    class Name(StrEnum):
        OF = "of"

    made = executed(TYPED)["made"]
    assert kernel_digest(made(language.constexpr(Mode.ADD))) == kernel_digest(made(3))
    assert captured_variables(made(language.constexpr(Mode.ADD))) == "of = tl.constexpr(3)\n"
    assert constant_text(Name.OF) == "'of'"


def test_what_a_definition_cannot_hold_is_left_out():
    scope = executed(WITH_TORCH_TYPE, dtype=torch.float32)
    assert "dtype" not in made_again(scope["cast"]).fn.__globals__
